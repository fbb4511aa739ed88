// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/sandbox"
)

// end ends the pod of a Job, as a kubelet does, and returns its UID. It waits for another pod than the given one.
func (p *place) end(job string, other types.UID, phase corev1.PodPhase) types.UID {
	p.Helper()
	var ended types.UID
	testenv.Eventually(p, func() (bool, string) {
		pods := &corev1.PodList{}
		if err := p.client.List(p.Context(), pods, client.InNamespace(p.namespace), client.MatchingLabels{"job-name": job}); err != nil {
			return false, err.Error()
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.UID == other || len(pod.Status.ContainerStatuses) == 0 || pod.DeletionTimestamp != nil {
				continue
			}
			pod.Status.Phase = phase
			err := p.client.Status().Update(p.Context(), pod)
			if err != nil && !apierrors.IsConflict(err) {
				p.Fatal(err)
			}
			ended = pod.UID
			return err == nil, "conflict"
		}
		return false, fmt.Sprintf("no new pod among %d", len(pods.Items))
	})
	return ended
}

// TestFailedHooksRunAgain has a hook of a chart fail once. Helm deletes it before it runs it again; so does clm, when the chart is applied again.
func TestFailedHooksRunAgain(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{"by default": "", "if it stays": "hook-succeeded"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			annotations := `{helm.sh/hook: pre-install}`
			if policy != "" {
				annotations = `{helm.sh/hook: pre-install, helm.sh/hook-delete-policy: ` + policy + `}`
			}
			const succeeded = `{helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded, helm.sh/hook-weight: "-1"}`
			chart := p.TempDir()
			p.write(chart+"/Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}")
			p.write(chart+"/templates/hook.yaml", `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: `+annotations+`}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {`+sandbox.AnnotationNeverReady+`: "true"}}
    spec: {restartPolicy: Never, containers: [{name: main, image: example.com/none}]}
`)
			// It has to be there when the hook runs again; the Job does not.
			p.write(chart+"/templates/input.yaml", strings.Replace(configMap("input", "1"), "name: input", "name: input, annotations: "+succeeded, 1))
			p.write(chart+"/templates/first.yaml", strings.Replace(job("first"), "annotations: {}", "annotations: "+succeeded, 1))
			p.write(chart+"/templates/settings.yaml", configMap("settings", "1"))
			first := p.begin("apply", "web", chart)
			failed := p.end("migrate", "", corev1.PodFailed)
			got := <-first.ended
			testenv.Eventually(t, func() (bool, string) {
				jobs := p.names("batch/v1", "Job")
				return slices.Equal(jobs, []string{"migrate"}) && p.configMap("input") != nil, fmt.Sprintf("Jobs %v", jobs)
			})
			if policy != "" {
				p.expect(got, exitNotReady, "To rerun Job PLACE/migrate, delete the failed objects, then run the same command again: kubectl delete job migrate -n PLACE")
				p.expect(p.clm("apply", "web", chart), exitNotReady, "kubectl delete job migrate")
				p.must("delete", "web")
				return
			}
			p.expect(got, exitNotReady, "To rerun Job PLACE/migrate, run the same command again.")
			p.expect(p.clm("plan", "web", chart), 0, "migrate", "has failed, and will run again")

			second := p.begin("apply", "web", chart)
			p.end("migrate", failed, corev1.PodSucceeded)
			p.expect(<-second.ended, 0, "release PLACE/web, revision 1, is ready")
			if p.configMap("input") != nil {
				t.Error("want the hook to go with the last one")
			}
			// Once it has succeeded, it does not run again.
			again := p.must("apply", "web", chart)
			if !strings.Contains(again.stderr, "is up to date") {
				t.Errorf("want nothing to be done, got %s", again.stderr)
			}
			p.must("delete", "web")
		})
	}
}
