// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/component-operator/runtime/pkg/status"
)

func diff(t *testing.T, got any, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unexpected (-want +got):\n%s", diff)
	}
}

func TestBuiltInKinds(t *testing.T) {
	t.Parallel()
	checkVerdicts(t, "", []verdict{
		{
			reason: "a ConfigMap has no status",
			object: `{apiVersion: v1, kind: ConfigMap, data: {a: b}}`,
			status: status.CurrentStatus, message: "ready",
		},
		{
			reason: "a PodDisruptionBudget is current at once, as for kstatus",
			object: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, status: {currentHealthy: 0, desiredHealthy: 0}}`,
			status: status.CurrentStatus, message: "ready",
		},
		{
			reason: "a Service of type LoadBalancer needs its cluster IP",
			object: `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}}`,
			status: status.InProgressStatus, message: "no cluster IP assigned yet",
		},
		{
			reason: "and the address of its load balancer",
			object: `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, status: {loadBalancer: {ingress: []}}}`,
			status: status.InProgressStatus, message: "its load balancer has no address yet",
		},
		{
			reason: "which is a name at some providers",
			object: `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer, clusterIP: 10.0.0.1}, status: {loadBalancer: {ingress: [{hostname: a.example.com}]}}}`,
			status: status.CurrentStatus, message: "ready",
		},
		{
			reason: "an unbound claim",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}`,
			status: status.InProgressStatus, message: "not bound yet (phase Pending)",
		},
		{
			reason: "a bound claim",
			object: `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Bound}}`,
			status: status.CurrentStatus, message: "bound",
		},
		{
			reason: "a new CustomResourceDefinition",
			object: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}`,
			status: status.InProgressStatus, message: "condition NamesAccepted is missing",
		},
		{
			reason: "a CustomResourceDefinition with clashing names will never be usable",
			object: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
				status: {conditions: [{type: NamesAccepted, status: "False", reason: PluralConflict, message: '"webs" is already in use'}]}}`,
			status: status.FailedStatus, message: `NamesAccepted is False (PluralConflict): "webs" is already in use`,
		},
		{
			reason: "the API server deletes the instances of a CustomResourceDefinition",
			object: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
				metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [customresourcecleanup.apiextensions.k8s.io]}, status: {conditions: [
				{type: Terminating, status: "True", reason: InstanceDeletionInProgress, message: CustomResource deletion is in progress}]}}`,
			status: status.TerminatingStatus, message: "waiting for finalizers: customresourcecleanup.apiextensions.k8s.io",
		},
		{
			reason: "the API server has failed to delete them",
			object: `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
				metadata: {deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [customresourcecleanup.apiextensions.k8s.io]}, status: {conditions: [
				{type: Terminating, status: "True", reason: InstanceDeletionFailed, message: "could not list instances: no storage"}]}}`,
			status: status.TerminatingStatus, message: "waiting for finalizers: customresourcecleanup.apiextensions.k8s.io; could not list instances: no storage",
		},
		{
			reason: "an APIService without endpoints",
			object: `{apiVersion: apiregistration.k8s.io/v1, kind: APIService,
				status: {conditions: [{type: Available, status: "False", reason: MissingEndpoints, message: endpoints for service/api in default have no addresses}]}}`,
			status: status.InProgressStatus, message: "Available is False (MissingEndpoints): endpoints for service/api in default have no addresses",
		},
		{
			reason: "a kind of the same name in another group has its own rules",
			object: `{apiVersion: example.io/v1, kind: Job}`,
			status: status.CurrentStatus, message: "ready",
		},
	})
}

func TestPod(t *testing.T) {
	t.Parallel()
	checkVerdicts(t, "apiVersion: v1, kind: Pod", []verdict{
		{
			reason: "running is not ready",
			object: `{status: {phase: Running, conditions: [{type: Ready, status: "False", reason: ContainersNotReady, message: 'containers with unready status: [app]'}]}}`,
			status: status.InProgressStatus, message: "Ready is False (ContainersNotReady): containers with unready status: [app]",
		},
		{
			reason: "running and ready",
			object: `{status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`,
			status: status.CurrentStatus, message: "ready",
		},
		{
			reason: "evicted",
			object: `{status: {phase: Failed, reason: Evicted, message: 'The node was low on resource: memory.'}}`,
			status: status.FailedStatus, message: "The node was low on resource: memory.",
		},
		{
			reason: "a container has failed",
			object: `{status: {phase: Failed, initContainerStatuses: [{name: prepare, state: {terminated: {exitCode: 0}}}],
				containerStatuses: [{name: app, state: {terminated: {exitCode: 3, reason: Error, message: no database}}}]}}`,
			status: status.FailedStatus, message: "container app exited with code 3: no database",
		},
		{
			reason: "container statuses of another shape cannot be judged",
			object: `{status: {phase: Running, containerStatuses: [text]}}`,
			status: status.UnknownStatus, message: "status cannot be computed: malformed object: interface conversion: interface {} is string, not map[string]interface {}",
		},
	})
}

func TestPodThatRunsToCompletion(t *testing.T) {
	t.Parallel()
	analyzer := status.NewAnalyzer("demo.example.io", status.Options{})
	for phase, want := range map[string]status.Status{"Running": status.InProgressStatus, "Succeeded": status.CurrentStatus, "Failed": status.FailedStatus} {
		object := parse(t, `{apiVersion: v1, kind: Pod, metadata: {annotations: {demo.example.io/status-hint: runToCompletion}},
			status: {phase: `+phase+`, conditions: [{type: Ready, status: "True"}]}}`)
		result, err := analyzer.AnalyzeAnnotated(object)
		if err != nil || result.Status != want {
			t.Errorf("%s: want %s, got %+v, error %v", phase, want, result, err)
		}
	}
}

func TestUnschedulablePodFailsAfterAWhile(t *testing.T) {
	t.Parallel()
	object := parse(t, `{apiVersion: v1, kind: Pod, metadata: {creationTimestamp: "2026-01-01T00:00:00Z"}, status: {phase: Pending,
		conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: no nodes}]}}`)
	analyze := func(now string) status.Result {
		result, err := status.NewAnalyzer(reconcilerName, status.Options{Clock: at(t, now)}).Analyze(object, status.Hints{})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	message := "PodScheduled is False (Unschedulable): no nodes"
	first := analyze("2026-01-01T00:00:05Z")
	diff(t, first, status.Result{Status: status.InProgressStatus, Message: message, Deadline: 10*time.Second + time.Millisecond})
	diff(t, analyze("2026-01-01T00:00:15Z"), status.Result{Status: status.FailedStatus, Message: message})
}

func TestVolumes(t *testing.T) {
	t.Parallel()
	checkVerdicts(t, "apiVersion: v1, kind: PersistentVolumeClaim", []verdict{
		{reason: "a lost claim does not become bound again", object: "{status: {phase: Lost}}", status: status.FailedStatus, message: "its volume is lost"},
	})
	checkVerdicts(t, "apiVersion: v1, kind: PersistentVolume", []verdict{
		{reason: "a volume that nobody claims", object: "{status: {phase: Available}}", status: status.CurrentStatus, message: "ready"},
		{reason: "its message says most", object: "{status: {phase: Failed, message: no such disk, reason: Denied}}", status: status.FailedStatus, message: "could not be reclaimed: no such disk"},
		{reason: "its reason says less", object: "{status: {phase: Failed, reason: Denied}}", status: status.FailedStatus, message: "could not be reclaimed: Denied"},
		{reason: "neither", object: "{status: {phase: Failed}}", status: status.FailedStatus, message: "could not be reclaimed: no reason is given"},
	})
}

func TestClaims(t *testing.T) {
	t.Parallel()
	tests := []struct {
		reason  string
		object  string
		pending bool
		class   string
	}{
		{"a new claim has no phase", `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {storageClassName: slow}}`, true, "slow"},
		{"a claim that waits", `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}`, true, ""},
		{"the old annotation wins, as it does for the controller", `{apiVersion: v1, kind: PersistentVolumeClaim,
			metadata: {annotations: {volume.beta.kubernetes.io/storage-class: old}}, spec: {storageClassName: slow}}`, true, "old"},
		{"a bound claim", `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Bound}}`, false, ""},
		{"a lost claim needs more than a consumer", `{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Lost}}`, false, ""},
		{"a claim in deletion", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`, false, ""},
		{"another kind", `{apiVersion: v1, kind: Pod, status: {phase: Pending}}`, false, ""},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			object := parse(t, test.object)
			diff(t, status.IsPendingClaim(object), test.pending)
			diff(t, status.StorageClassOf(object), test.class)
		})
	}
	if status.IsPendingClaim(nil) || status.StorageClassOf(nil) != "" {
		t.Error("no object is no claim")
	}
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	checkVerdicts(t, "apiVersion: v1, kind: Namespace", []verdict{
		{
			reason: "what is in it may have finalizers",
			object: `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, spec: {finalizers: [kubernetes]}, status: {phase: Terminating, conditions: [
				{type: NamespaceDeletionDiscoveryFailure, status: "False", reason: ResourcesDiscovered, message: "All resources successfully discovered"},
				{type: NamespaceContentRemaining, status: "True", reason: SomeResourcesRemain, message: "Some resources are remaining: configmaps. has 1 resource instances"},
				{type: NamespaceFinalizersRemaining, status: "True", reason: SomeFinalizersRemain, message: "Some content in the namespace has finalizers remaining: example.com/stuck in 1 resource instances"}]}}`,
			status: status.TerminatingStatus,
			message: "Some content in the namespace has finalizers remaining: example.com/stuck in 1 resource instances; " +
				"Some resources are remaining: configmaps. has 1 resource instances",
		},
		{
			reason:  "an API may not answer",
			object:  `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {conditions: [{type: NamespaceDeletionDiscoveryFailure, status: "True", message: "Discovery failed"}]}}`,
			status:  status.TerminatingStatus,
			message: "Discovery failed",
		},
		{
			reason:  "nothing is known yet",
			object:  `{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}}`,
			status:  status.TerminatingStatus,
			message: "being deleted",
		},
	})
}
