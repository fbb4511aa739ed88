// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/resources"
	"github.com/component-operator/runtime/pkg/resources/clusterrole"
	"github.com/component-operator/runtime/pkg/resources/clusterrolebinding"
	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/configmap"
	"github.com/component-operator/runtime/pkg/resources/crd"
	"github.com/component-operator/runtime/pkg/resources/cronjob"
	"github.com/component-operator/runtime/pkg/resources/daemonset"
	"github.com/component-operator/runtime/pkg/resources/deployment"
	"github.com/component-operator/runtime/pkg/resources/hpa"
	"github.com/component-operator/runtime/pkg/resources/ingress"
	"github.com/component-operator/runtime/pkg/resources/job"
	"github.com/component-operator/runtime/pkg/resources/namespace"
	"github.com/component-operator/runtime/pkg/resources/networkpolicy"
	"github.com/component-operator/runtime/pkg/resources/pdb"
	"github.com/component-operator/runtime/pkg/resources/pod"
	"github.com/component-operator/runtime/pkg/resources/pv"
	"github.com/component-operator/runtime/pkg/resources/pvc"
	"github.com/component-operator/runtime/pkg/resources/replicaset"
	"github.com/component-operator/runtime/pkg/resources/role"
	"github.com/component-operator/runtime/pkg/resources/rolebinding"
	"github.com/component-operator/runtime/pkg/resources/secret"
	"github.com/component-operator/runtime/pkg/resources/service"
	"github.com/component-operator/runtime/pkg/resources/serviceaccount"
	"github.com/component-operator/runtime/pkg/resources/statefulset"
)

// typedResource is what the resources of all kinds can do.
type typedResource interface {
	resources.Resource
	concepts.ObservationRecorder
	concepts.Graceful
	concepts.Suspendable
	concepts.Registered
}

func built[R typedResource](resource R, err error) typedResource {
	if err != nil {
		panic(err) // the objects of kinds can be built
	}
	return resource
}

// kinds returns a resource of each kind.
func kinds() []typedResource {
	in, global := named("x"), metav1.ObjectMeta{Name: "x"}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "x"}
	return []typedResource{
		built(deployment.NewBuilder(&appsv1.Deployment{ObjectMeta: in}).Build()),
		built(replicaset.NewBuilder(&appsv1.ReplicaSet{ObjectMeta: in}).Build()),
		built(statefulset.NewBuilder(&appsv1.StatefulSet{ObjectMeta: in}).Build()),
		built(daemonset.NewBuilder(&appsv1.DaemonSet{ObjectMeta: in}).Build()),
		built(pod.NewBuilder(&corev1.Pod{ObjectMeta: in}).Build()),
		built(job.NewBuilder(&batchv1.Job{ObjectMeta: in}).Build()),
		built(cronjob.NewBuilder(&batchv1.CronJob{ObjectMeta: in}).Build()),
		built(service.NewBuilder(&corev1.Service{ObjectMeta: in}).Build()),
		built(ingress.NewBuilder(&networkingv1.Ingress{ObjectMeta: in}).AwaitAddress().Build()),
		built(hpa.NewBuilder(&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: in}).Build()),
		built(pvc.NewBuilder(&corev1.PersistentVolumeClaim{ObjectMeta: in}).Build()),
		built(pv.NewBuilder(&corev1.PersistentVolume{ObjectMeta: global}).Build()),
		built(crd.NewBuilder(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: global}).Build()),
		built(configmap.NewBuilder(&corev1.ConfigMap{ObjectMeta: in}).Build()),
		built(secret.NewBuilder(&corev1.Secret{ObjectMeta: in}).Build()),
		built(serviceaccount.NewBuilder(&corev1.ServiceAccount{ObjectMeta: in}).Build()),
		built(role.NewBuilder(&rbacv1.Role{ObjectMeta: in}).Build()),
		built(clusterrole.NewBuilder(&rbacv1.ClusterRole{ObjectMeta: global}).Build()),
		built(rolebinding.NewBuilder(&rbacv1.RoleBinding{ObjectMeta: in, RoleRef: ref}).Build()),
		built(clusterrolebinding.NewBuilder(&rbacv1.ClusterRoleBinding{ObjectMeta: global, RoleRef: ref}).Build()),
		built(pdb.NewBuilder(&policyv1.PodDisruptionBudget{ObjectMeta: in}).Build()),
		built(networkpolicy.NewBuilder(&networkingv1.NetworkPolicy{ObjectMeta: in}).Build()),
		built(namespace.NewBuilder(&corev1.Namespace{ObjectMeta: global}).Build()),
	}
}

// TestKinds: the identity of each kind, whether its handlers decide about its readiness, and what suspends it.
func TestKinds(t *testing.T) {
	t.Parallel()
	want := []string{
		"apps/v1/Deployment/shop/x judged suspendable", "apps/v1/ReplicaSet/shop/x judged suspendable", "apps/v1/StatefulSet/shop/x judged suspendable",
		"apps/v1/DaemonSet/shop/x judged suspendable deleted", "v1/Pod/shop/x judged suspendable deleted", "batch/v1/Job/shop/x judged suspendable deleted",
		"batch/v1/CronJob/shop/x judged suspendable", "v1/Service/shop/x judged", "networking.k8s.io/v1/Ingress/shop/x judged",
		"autoscaling/v2/HorizontalPodAutoscaler/shop/x judged suspendable deleted", "v1/PersistentVolumeClaim/shop/x judged", "v1/PersistentVolume/x judged",
		"apiextensions.k8s.io/v1/CustomResourceDefinition/x judged", "v1/ConfigMap/shop/x", "v1/Secret/shop/x", "v1/ServiceAccount/shop/x",
		"rbac.authorization.k8s.io/v1/Role/shop/x", "rbac.authorization.k8s.io/v1/ClusterRole/x", "rbac.authorization.k8s.io/v1/RoleBinding/shop/x",
		"rbac.authorization.k8s.io/v1/ClusterRoleBinding/x", "policy/v1/PodDisruptionBudget/shop/x", "networking.k8s.io/v1/NetworkPolicy/shop/x", "v1/Namespace/x",
	}
	var got []string
	for _, r := range kinds() {
		text := r.Identity()
		for _, property := range []struct {
			name string
			has  bool
		}{{"judged", r.Registration().Judged}, {"suspendable", r.Registration().Suspendable}, {"deleted", r.DeleteOnSuspend()}} {
			if property.has {
				text += " " + property.name
			}
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err := rolebinding.NewBuilder(&rbacv1.RoleBinding{ObjectMeta: named("x")}).Build()
	for _, field := range []string{"roleRef.apiGroup must not be empty", "roleRef.kind must not be empty", "roleRef.name must not be empty"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("got %v, want %s", err, field)
		}
	}
}

// state is an object as it may be in the cluster, and what the handlers say about it.
type state struct {
	reason string
	object client.Object
	status string // without an operation
	grade  concepts.GraceStatus
}

// statusOf returns how far the recorded object is, without an operation.
func statusOf(r typedResource) (concepts.Converging, error) {
	const op = concepts.ConvergingOperationNone
	switch r := r.(type) {
	case concepts.Alive:
		return r.ConvergingStatus(op)
	case concepts.Completable:
		return r.ConvergingStatus(op)
	case concepts.Operational:
		return r.ConvergingStatus(op)
	}
	return nil, errors.New("there is no status")
}

// kindOf returns the resource for objects of this Go type, which has recorded the object.
func kindOf(tb testing.TB, object client.Object) typedResource {
	tb.Helper()
	for _, r := range kinds() {
		if err := r.RecordObservation(object); err == nil {
			return r
		}
	}
	tb.Fatalf("there is no kind for %T", object)
	return nil
}

func checkStates(t *testing.T, states []state) {
	t.Helper()
	for _, s := range states {
		before := s.object.DeepCopyObject()
		r := kindOf(t, s.object)
		converging, err := statusOf(r)
		if err != nil {
			t.Errorf("%T, %s: %v", s.object, s.reason, err)
			continue
		}
		grace, err := r.GraceStatus()
		if err != nil {
			t.Errorf("%T, %s: %v", s.object, s.reason, err)
			continue
		}
		status, reason := converging.Describe()
		if got := status + ": " + reason; got != s.status || grace.Status != s.grade {
			t.Errorf("%T, %s: got %q, %s, want %q, %s", s.object, s.reason, got, grace.Status, s.status, s.grade)
		}
		if diff := cmp.Diff(before, s.object.DeepCopyObject()); diff != "" {
			t.Errorf("%T, %s: the handler has changed the object (-before +after):\n%s", s.object, s.reason, diff)
		}
	}
}

const (
	healthy, degraded, down = concepts.GraceStatusHealthy, concepts.GraceStatusDegraded, concepts.GraceStatusDown

	isReady = "Healthy: All replicas are ready"
)

// deploymentWith returns a Deployment of three replicas whose controller has observed its spec.
func deploymentWith(ready, updated, current int32, conditions ...appsv1.DeploymentCondition) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 2},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(3))},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, ReadyReplicas: ready, UpdatedReplicas: updated, Replicas: current, Conditions: conditions},
	}
}

func changed[P client.Object](object P, change func(P)) P {
	change(object)
	return object
}

func TestDeploymentHandlers(t *testing.T) {
	t.Parallel()
	stuck := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded", Message: "timed out"}
	refused := appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate"}
	pause := func(d *appsv1.Deployment) { d.Spec.Paused = true }
	stale := func(d *appsv1.Deployment) { d.Generation++ }
	checkStates(t, []state{
		{"all replicas are ready", deploymentWith(3, 3, 3), isReady, healthy},
		{"a replica is not ready", deploymentWith(2, 3, 3), "Scaling: Waiting for replicas: 2/3 ready", degraded},
		{"too many replicas are ready", deploymentWith(4, 3, 4), "Scaling: Waiting for replicas: 4/3 ready", degraded},
		{"the rollout is unfinished", deploymentWith(3, 1, 3), "Updating: Waiting for rollout: 1/3 replicas updated", healthy},
		{"old replicas are left", deploymentWith(3, 3, 4), "Updating: Waiting for rollout: 1 old replicas left", healthy},
		{"the rollout is paused", changed(deploymentWith(3, 1, 3), pause), isReady, healthy},
		{"the rollout takes too long", deploymentWith(2, 2, 4, stuck), "Failing: ProgressDeadlineExceeded: timed out", degraded},
		{"replicas cannot be created", deploymentWith(2, 2, 2, refused), "Failing: FailedCreate", degraded},
		{"the spec is not observed", changed(deploymentWith(3, 3, 3, stuck), stale), "Updating: Waiting for deployment controller to observe latest spec", healthy},
	})
	for op, want := range map[concepts.ConvergingOperation]string{
		concepts.ConvergingOperationCreated: "Creating", concepts.ConvergingOperationUpdated: "Updating", concepts.ConvergingOperationNone: "Scaling",
	} {
		if got, err := deployment.DefaultConvergingStatusHandler(op, deploymentWith(1, 3, 3)); err != nil || string(got.Status) != want {
			t.Errorf("after %s: got %v, %v, want %s", op, got, err, want)
		}
	}
}

func TestWorkloadHandlers(t *testing.T) {
	t.Parallel()
	replicaSet := func(ready, current int32, conditions ...appsv1.ReplicaSetCondition) *appsv1.ReplicaSet {
		return &appsv1.ReplicaSet{
			Spec:   appsv1.ReplicaSetSpec{Replicas: new(int32(3))},
			Status: appsv1.ReplicaSetStatus{ReadyReplicas: ready, Replicas: current, Conditions: conditions},
		}
	}
	statefulSet := func(current, updated int32, revision string, strategy appsv1.StatefulSetUpdateStrategy) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{
			Spec:   appsv1.StatefulSetSpec{Replicas: new(int32(3)), UpdateStrategy: strategy},
			Status: appsv1.StatefulSetStatus{ReadyReplicas: 3, Replicas: current, UpdatedReplicas: updated, CurrentRevision: revision, UpdateRevision: "new"},
		}
	}
	from := func(partition int32) appsv1.StatefulSetUpdateStrategy {
		return appsv1.StatefulSetUpdateStrategy{RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}}
	}
	onDelete := appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	daemonSet := func(ready, updated int32, strategy appsv1.DaemonSetUpdateStrategyType) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{
			Spec:   appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: strategy}},
			Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 3, CurrentNumberScheduled: 3, NumberReady: ready, UpdatedNumberScheduled: updated},
		}
	}
	refused := appsv1.ReplicaSetCondition{Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "quota"}
	rollout := func(text string) string { return "Updating: Waiting for rollout: " + text }
	checkStates(t, []state{
		{"all replicas are ready", replicaSet(3, 3), isReady, healthy},
		{"surplus replicas", replicaSet(3, 4), rollout("1 replicas too many"), healthy},
		{"replicas cannot be created", replicaSet(2, 2, refused), "Failing: FailedCreate: quota", degraded},

		{"the rollout has ended", statefulSet(3, 3, "new", appsv1.StatefulSetUpdateStrategy{}), isReady, healthy},
		{"the rollout is unfinished", statefulSet(3, 2, "old", appsv1.StatefulSetUpdateStrategy{}), rollout("2/3 replicas updated"), healthy},
		{"the revision is not the current one", statefulSet(3, 3, "old", from(0)), rollout("the new revision is not the current one yet"), healthy},
		{"not all above the partition are updated", statefulSet(3, 1, "old", from(1)), rollout("1/2 replicas updated"), healthy},
		{"all above the partition are updated", statefulSet(3, 2, "old", from(1)), isReady, healthy},
		{"replicas are replaced when somebody deletes them", statefulSet(3, 0, "old", onDelete), isReady, healthy},

		{"the rollout is unfinished", daemonSet(3, 1, ""), rollout("1/3 pods updated"), healthy},
		{"pods are replaced when somebody deletes them", daemonSet(3, 0, appsv1.OnDeleteDaemonSetStrategyType), isReady, healthy},
		{"a pod is not ready", daemonSet(2, 3, ""), "Scaling: Waiting for replicas: 2/3 ready", degraded},
	})
}

func TestPodHandlers(t *testing.T) {
	t.Parallel()
	const (
		always, never            = corev1.RestartPolicyAlways, corev1.RestartPolicyNever
		running, pending, failed = corev1.PodRunning, corev1.PodPending, corev1.PodFailed

		starting = "Creating: Waiting for the containers to start"
		logWaits = "Creating: Waiting for containers to be ready: log"
	)
	// in has the containers web and log, and the sidecar proxy.
	in := func(phase corev1.PodPhase, policy corev1.RestartPolicy, statuses ...corev1.ContainerStatus) *corev1.Pod {
		return &corev1.Pod{
			Spec: corev1.PodSpec{
				RestartPolicy:  policy,
				InitContainers: []corev1.Container{{Name: "proxy", RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}},
				Containers:     []corev1.Container{{Name: "web"}, {Name: "log"}},
			},
			Status: corev1.PodStatus{Phase: phase, ContainerStatuses: statuses, InitContainerStatuses: []corev1.ContainerStatus{{Name: "proxy", Ready: true}}},
		}
	}
	ready := func(name string) corev1.ContainerStatus { return corev1.ContainerStatus{Name: name, Ready: true} }
	waits := func(name, reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
	}
	ended := func(name string, code int32, reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}}
	}
	evict := func(p *corev1.Pod) { p.Status.Reason, p.Status.Message = "Evicted", "low on memory" }
	stopSidecar := func(p *corev1.Pod) { p.Status.InitContainerStatuses = nil }
	restartWeb := func(p *corev1.Pod) {
		p.Spec.Containers[0].RestartPolicy = new(corev1.ContainerRestartPolicyOnFailure)
	}
	checkStates(t, []state{
		{"all containers are ready", in(running, always, ready("web"), ready("log")), "Healthy: All containers are ready", healthy},
		{"a container is not ready", in(running, always, ready("web"), waits("log", "ContainerCreating")), logWaits, degraded},
		{
			"a sidecar is not ready", changed(in(running, always, ready("web"), ready("log")), stopSidecar),
			"Creating: Waiting for containers to be ready: proxy", degraded,
		},
		{
			"only this container is started again", changed(in(running, never, ended("web", 1, ""), ready("log")), restartWeb),
			"Creating: Waiting for containers to be ready: web", degraded,
		},
		{"a container crashes again and again", in(running, always, waits("web", "CrashLoopBackOff"), ready("log")), "Failing: Container web: CrashLoopBackOff", degraded},
		{
			"a container has ended with an error", in(running, never, ended("web", 137, "OOMKilled"), ready("log")),
			"Failing: Container web exited with code 137: OOMKilled", degraded,
		},
		{"the pod was evicted", changed(in(failed, always, ended("web", 137, "Error")), evict), "Failing: Evicted: low on memory", down},
	})
}

func TestOtherHandlers(t *testing.T) {
	t.Parallel()
	jobWith := func(active int32, conditions ...batchv1.JobCondition) *batchv1.Job {
		return &batchv1.Job{Status: batchv1.JobStatus{Active: active, Conditions: conditions}}
	}
	complete := batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}
	exceeded := batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "too many retries"}
	balancer := func(externalIPs []string, points ...corev1.LoadBalancerIngress) *corev1.Service {
		return &corev1.Service{
			Spec:   corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ExternalIPs: externalIPs},
			Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: points}},
		}
	}
	reached := &networkingv1.Ingress{Status: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{
		Ingress: []networkingv1.IngressLoadBalancerIngress{{Hostname: "lb.example.com"}},
	}}}
	autoscaler := func(conditions ...autoscalingv2.HorizontalPodAutoscalerCondition) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{Status: autoscalingv2.HorizontalPodAutoscalerStatus{Conditions: conditions}}
	}
	active := autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue}
	inactive := autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "FailedGetResourceMetric"}
	claim := func(phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
	}
	volume := func(phase corev1.PersistentVolumePhase, message string) *corev1.PersistentVolume {
		return &corev1.PersistentVolume{Status: corev1.PersistentVolumeStatus{Phase: phase, Message: message}}
	}
	definition := func(conditions ...apiextensionsv1.CustomResourceDefinitionCondition) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: conditions}}
	}
	established := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}
	taken := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionFalse, Reason: "PluralConflict"}
	checkStates(t, []state{
		{"there are no pods yet", jobWith(0), "TaskPending: Waiting for pods to start", degraded},
		{"pods are running", jobWith(2), "TaskRunning: 2 active pods", degraded},
		{"it is done", jobWith(0, complete), "Completed: The job is complete", healthy},
		{"it has failed", jobWith(0, exceeded), "TaskFailing: BackoffLimitExceeded: too many retries", down},

		{"jobs do not count", &batchv1.CronJob{}, "Operational: applied", healthy},

		{"no load balancer", &corev1.Service{}, "Operational: applied", healthy},
		{"no address", balancer(nil, corev1.LoadBalancerIngress{}), "OperationPending: Waiting for the address of the load balancer", degraded},
		{"an address", balancer(nil, corev1.LoadBalancerIngress{IP: "192.0.2.1"}), "Operational: The load balancer has an address", healthy},

		{"no address after AwaitAddress", &networkingv1.Ingress{}, "OperationPending: Waiting for the address of the load balancer", degraded},
		{"an address", reached, "Operational: The load balancer has an address", healthy},

		{"nothing is known yet", autoscaler(), "OperationPending: Waiting for ScalingActive to be True", degraded},
		{"it scales", autoscaler(active), "Operational: ScalingActive is True", healthy},
		{"there are no metrics", autoscaler(inactive), "OperationFailing: ScalingActive is False: FailedGetResourceMetric", down},

		{"there is a volume", claim(corev1.ClaimBound), "Operational: The claim is bound", healthy},
		{"somebody has deleted the volume", claim(corev1.ClaimLost), "OperationFailing: The claim has lost its volume", down},

		{"no claim uses it yet", volume(corev1.VolumeAvailable, ""), "Operational: The volume is Available", healthy},
		{"it could not be recycled", volume(corev1.VolumeFailed, "in use"), "OperationFailing: The volume is Failed: in use", down},

		{"objects can be created", definition(established), "Operational: Established is True", healthy},
		{"its new names are taken", definition(established, taken), "OperationFailing: NamesAccepted is False: PluralConflict", down},
	})
	applied, err := ingress.DefaultConvergingStatusHandler(concepts.ConvergingOperationNone, &networkingv1.Ingress{})
	if err != nil || !applied.IsConverged() {
		t.Errorf("without AwaitAddress, an Ingress needs no address: %v, %v", applied, err)
	}
}

func TestSuspensionHandlers(t *testing.T) {
	t.Parallel()
	scaledDown := deploymentWith(0, 0, 0)
	jobWith := func(active int32, terminating *int32, suspend *bool, conditions ...batchv1.JobCondition) *batchv1.Job {
		return &batchv1.Job{Spec: batchv1.JobSpec{Suspend: suspend}, Status: batchv1.JobStatus{Active: active, Terminating: terminating, Conditions: conditions}}
	}
	cronJob := func(suspend *bool, running ...corev1.ObjectReference) *batchv1.CronJob {
		return &batchv1.CronJob{Spec: batchv1.CronJobSpec{Suspend: suspend}, Status: batchv1.CronJobStatus{Active: running}}
	}
	for _, row := range []struct {
		reason string
		object client.Object
		want   string
	}{
		{"no replicas are left", scaledDown, "Suspended: Deployment scaled to zero"},
		{"replicas are left", deploymentWith(0, 0, 2), "Suspending: Waiting for replicas to scale down, 2 replicas still running."},
		{
			"the spec is not observed", changed(scaledDown.DeepCopy(), func(d *appsv1.Deployment) { d.Generation++ }),
			"Suspending: Waiting for deployment controller to observe latest spec",
		},
		{"replicas are left", &appsv1.ReplicaSet{Status: appsv1.ReplicaSetStatus{Replicas: 1}}, "Suspending: Waiting for replicas to scale down, 1 replicas still running."},
		{"pods are running or ending", jobWith(2, new(int32(1)), nil), "Suspending: Waiting for 3 pods to terminate"},
		{"there are no pods", jobWith(0, new(int32(0)), new(true)), "Suspended: The job has no pods"},
		{"jobs are running", cronJob(new(true), corev1.ObjectReference{}), "Suspending: Waiting for 1 running jobs"},
		{"no jobs are running", cronJob(new(true)), "Suspended: No jobs are running"},
		{"it is deleted with its pods", &appsv1.DaemonSet{}, "Suspended: "},
	} {
		got, err := kindOf(t, row.object).SuspensionStatus()
		if text := string(got.Status) + ": " + got.Reason; err != nil || text != row.want {
			t.Errorf("%T, %s: got %q, %v, want %q", row.object, row.reason, text, err, row.want)
		}
	}
	for _, row := range []struct{ object, want client.Object }{
		{&appsv1.Deployment{ObjectMeta: named("x")}, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(0))}}},
		{&appsv1.ReplicaSet{ObjectMeta: named("x")}, &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(0))}}},
		{&appsv1.StatefulSet{ObjectMeta: named("x")}, &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: new(int32(0))}}},
		{&batchv1.Job{ObjectMeta: named("x")}, &batchv1.Job{Spec: batchv1.JobSpec{Suspend: new(true)}}},
		{&batchv1.CronJob{ObjectMeta: named("x")}, &batchv1.CronJob{Spec: batchv1.CronJobSpec{Suspend: new(true)}}},
	} {
		r, object := kindOf(t, row.object), row.object
		if err := r.Suspend(); err != nil {
			t.Fatal(err)
		}
		if err := r.Mutate(object); err != nil {
			t.Fatal(err)
		}
		object.SetNamespace("")
		object.SetName("")
		object.GetObjectKind().SetGroupVersionKind(row.want.GetObjectKind().GroupVersionKind())
		if diff := cmp.Diff(row.want, object); diff != "" {
			t.Errorf("suspended form (-want +got):\n%s", diff)
		}
	}
}

// TestHashes: pods are replaced when a hash changes, so it depends on the entries alone, and is the same in all
// versions of these packages.
func TestHashes(t *testing.T) {
	t.Parallel()
	const wanted = "b8b6d9c85cc37db860f808ab6251044ae69d6f674f59bf645e0c09c1c315898d"
	one, two := []byte("1"), []byte("2")
	for _, configMap := range []*corev1.ConfigMap{
		{Data: map[string]string{"a": "1", "b": "2"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Data: map[string]string{"a": "1"}, BinaryData: map[string][]byte{"b": two}},
	} {
		if got, err := configmap.DataHash(configMap); err != nil || got != wanted {
			t.Errorf("got %s, %v", got, err)
		}
	}
	for _, secretOf := range []*corev1.Secret{
		{Data: map[string][]byte{"a": one, "b": two}},
		{Data: map[string][]byte{"a": one, "b": one}, StringData: map[string]string{"b": "2"}},
	} {
		if got, err := secret.DataHash(secretOf); err != nil || got != wanted {
			t.Errorf("got %s, %v", got, err)
		}
	}
	twice := &corev1.ConfigMap{Data: map[string]string{"a": ""}, BinaryData: map[string][]byte{"a": nil}}
	if _, err := configmap.DataHash(twice); err == nil || !strings.Contains(err.Error(), `key "a" is in both data and binaryData`) {
		t.Errorf("unexpected error %v", err)
	}

	// What somebody else writes is not known, so a hash of it would never change.
	theirs, err := configMap("x").ReadOnly(concepts.AbsenceBlocks).Build()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := configmap.DesiredHash(theirs); err == nil || !strings.Contains(err.Error(), "the resource is read-only") {
		t.Errorf("unexpected error %v", err)
	}
	if _, err := secret.DesiredHash(nil); err == nil || !strings.Contains(err.Error(), "the resource must not be nil") {
		t.Errorf("unexpected error %v", err)
	}
}

// TestLists: an item replaces the one with its name, and is there once.
func TestLists(t *testing.T) {
	t.Parallel()
	template := func(name, volume string) corev1.PersistentVolumeClaim {
		return corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{VolumeClaimTemplates: []corev1.PersistentVolumeClaim{template("a", "1"), template("b", "2")}}}
	claims := statefulset.NewMutator(set)
	claims.EnsureVolumeClaimTemplate(template("a", "3"))
	claims.RemoveVolumeClaimTemplate("b")
	claims.EnsureVolumeClaimTemplate(template("c", "4"))
	account := &corev1.ServiceAccount{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "a"}}}
	secrets := serviceaccount.NewMutator(account)
	secrets.EnsureImagePullSecret("b")
	secrets.EnsureImagePullSecret("b")
	secrets.RemoveImagePullSecret("a")
	if err := errors.Join(claims.Apply(), secrets.Apply()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]corev1.PersistentVolumeClaim{template("a", "3"), template("c", "4")}, set.Spec.VolumeClaimTemplates); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "b"}}, account.ImagePullSecrets); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
