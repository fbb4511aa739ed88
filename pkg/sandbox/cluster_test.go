// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// workload returns an object of that kind with a pod template.
func workload(t *testing.T, namespace, apiVersion, kind, spec string) *unstructured.Unstructured {
	t.Helper()
	object := testenv.Object(t, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: demo}, spec: %s}", apiVersion, kind, spec))
	object.SetNamespace(namespace)
	return object
}

func create(t *testing.T, c client.Client, object *unstructured.Unstructured) client.ObjectKey {
	t.Helper()
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return client.ObjectKeyFromObject(object)
}

const deploymentSpec = `{replicas: 3, progressDeadlineSeconds: 1, minReadySeconds: 0, selector: {matchLabels: {app: demo}},
  template: {metadata: {labels: {app: demo}, annotations: {%s: "true"}}, spec: {containers: [{name: demo, image: demo}]}}}`

func TestDeploymentNeverProgresses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, annotation string
	}{
		{reason: "pods that never become ready", annotation: sandbox.AnnotationNeverReady},
		{reason: "pods that crash again and again", annotation: sandbox.AnnotationFail},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			c, namespace := testenv.Client(t), testenv.Namespace(t)
			key := create(t, c, workload(t, namespace, "apps/v1", "Deployment", fmt.Sprintf(deploymentSpec, test.annotation)))
			var deployment appsv1.Deployment
			testenv.Eventually(t, func() (bool, string) {
				if err := c.Get(t.Context(), key, &deployment); err != nil {
					return false, err.Error()
				}
				for _, condition := range deployment.Status.Conditions {
					if condition.Type == appsv1.DeploymentProgressing && condition.Reason == "ProgressDeadlineExceeded" {
						return true, ""
					}
				}
				return false, fmt.Sprintf("status is %+v", deployment.Status)
			})
			// The deadline may be over before the pods have started.
			testenv.Eventually(t, func() (bool, string) {
				if err := c.Get(t.Context(), key, &deployment); err != nil {
					return false, err.Error()
				}
				var pods corev1.PodList
				if err := c.List(t.Context(), &pods, client.InNamespace(namespace)); err != nil {
					return false, err.Error()
				}
				for _, pod := range pods.Items {
					if pod.Status.Phase != corev1.PodRunning {
						return false, fmt.Sprintf("%s is %s, want it running", pod.Name, pod.Status.Phase)
					}
				}
				return deployment.Status.Replicas == 3, fmt.Sprintf("got %+v, want 3 replicas", deployment.Status)
			})
			if deployment.Status.ReadyReplicas != 0 {
				t.Errorf("got %+v, want no replica to be ready", deployment.Status)
			}
		})
	}
}

func TestJobs(t *testing.T) {
	t.Parallel()
	const spec = `{backoffLimit: 0, completions: 2, parallelism: 2, template: {metadata: {annotations: {%s: "true"}},
  spec: {restartPolicy: Never, containers: [{name: demo, image: demo}]}}}`
	for _, test := range []struct {
		reason              string
		job, template       string // annotations
		condition, opposite batchv1.JobConditionType
	}{
		{reason: "by itself, it completes", job: "other", template: "other", condition: batchv1.JobComplete, opposite: batchv1.JobFailed},
		{reason: "annotated, it fails", job: sandbox.AnnotationFail, template: "other", condition: batchv1.JobFailed, opposite: batchv1.JobComplete},
		{reason: "with an annotated template, it fails", job: "other", template: sandbox.AnnotationFail, condition: batchv1.JobFailed, opposite: batchv1.JobComplete},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			c, namespace := testenv.Client(t), testenv.Namespace(t)
			object := workload(t, namespace, "batch/v1", "Job", fmt.Sprintf(spec, test.template))
			object.SetAnnotations(map[string]string{test.job: "true"})
			key := create(t, c, object)
			testenv.Eventually(t, func() (bool, string) {
				var job batchv1.Job
				if err := c.Get(t.Context(), key, &job); err != nil {
					return false, err.Error()
				}
				for _, condition := range job.Status.Conditions {
					switch {
					case condition.Type == test.condition && condition.Status == corev1.ConditionTrue:
						return true, ""
					case condition.Type == test.opposite && condition.Status == corev1.ConditionTrue:
						t.Fatalf("got %+v, want %s", condition, test.condition)
					}
				}
				return false, fmt.Sprintf("status is %+v", job.Status)
			})
		})
	}
}

func TestOrdinaryPods(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reason, spec string
		want         corev1.PodPhase
	}{
		{reason: "restarts always: runs", spec: `{containers: [{name: a, image: a}], readinessGates: [{conditionType: example.io/gate}]}`, want: corev1.PodRunning},
		{reason: "does not restart: succeeds", spec: `{restartPolicy: Never, initContainers: [{name: i, image: i}], containers: [{name: a, image: a}]}`, want: corev1.PodSucceeded},
		{
			reason: "has a sidecar: runs", want: corev1.PodRunning,
			spec: `{initContainers: [{name: i, image: i, restartPolicy: Always}, {name: j, image: j}], containers: [{name: a, image: a}, {name: b, image: b}]}`,
		},
	} {
		t.Run(test.reason, func(t *testing.T) {
			t.Parallel()
			c, namespace := testenv.Client(t), testenv.Namespace(t)
			key := create(t, c, workload(t, namespace, "v1", "Pod", test.spec))
			var pod corev1.Pod
			testenv.Eventually(t, func() (bool, string) {
				if err := c.Get(t.Context(), key, &pod); err != nil {
					return false, err.Error()
				}
				return pod.Status.Phase == test.want, fmt.Sprintf("status is %+v", pod.Status)
			})
			ready := corev1.ConditionUnknown
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodReady {
					ready = condition.Status
				}
			}
			if want := corev1.ConditionTrue; test.want == corev1.PodRunning && ready != want {
				t.Errorf("condition Ready is %s, want %s", ready, want)
			}
			if test.want == corev1.PodRunning && pod.Status.PodIP == "" {
				t.Error("there is no pod IP")
			}

			// The usual grace period must not be waited for.
			if err := c.Delete(t.Context(), &pod); err != nil {
				t.Fatal(err)
			}
			testenv.Eventually(t, func() (bool, string) {
				err := c.Get(t.Context(), key, &pod)
				return apierrors.IsNotFound(err), "the deleted pod is still there"
			})
		})
	}
}
