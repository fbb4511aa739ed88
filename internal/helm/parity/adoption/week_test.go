// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package adoption

import (
	"fmt"
	"testing"

	"github.com/component-operator/runtime/pkg/sandbox"
)

// TestWeek works with a chart of the size of a monitoring stack from Monday to Friday, as a platform engineer does. The transcripts in testdata/week have each
// command, all that it prints, and its exit code if that is not 0. What is done with kubectl and helm is said in lines that begin with #; the test does it with a client
// and with the packages of Helm 4.
func TestWeek(t *testing.T) {
	t.Parallel()
	w := newWeek(t)
	w.monday()
	w.tuesday()
	w.wednesday()
	w.thursday()
	w.friday()
}

// monday installs the release.
func (w *week) monday() {
	w.Helper()
	w.enter("apply", "monitoring", "stack-1.0.0", "--create-namespace")
	w.enter("status", "monitoring")
	w.enter("ls")
	w.compare("1-monday")
}

// tuesday reviews a new version of the chart in a pull request, and applies it.
func (w *week) tuesday() {
	w.Helper()
	w.enter("plan", "monitoring", "stack-1.1.0", "-o", "markdown", "--exit-code")
	w.enter("apply", "monitoring", "stack-1.1.0")
	w.enter("history", "monitoring")
	w.compare("2-tuesday")
}

// wednesday has pods that crash.
func (w *week) wednesday() {
	w.Helper()
	w.values("crash.yaml", fmt.Sprintf("podAnnotations: {%s: \"true\"}", sandbox.AnnotationFail))
	w.enter("apply", "monitoring", "stack-1.1.0", "-f", "crash.yaml", "--timeout", "5s")
	w.enter("status", "monitoring")
	w.enter("rollback", "monitoring", "--dry-run")
	w.enter("rollback", "monitoring")
	w.enter("status", "monitoring")
	w.enter("history", "monitoring")
	w.compare("3-wednesday")
}

// thursday has a hook that fails, and objects that others change and delete.
func (w *week) thursday() {
	w.Helper()
	w.values("hook.yaml", fmt.Sprintf("webhook: {jobAnnotations: {%s: \"true\"}}", sandbox.AnnotationFail))
	w.enter("apply", "monitoring", "stack-1.1.0", "-f", "hook.yaml")
	w.enter("status", "monitoring")
	w.enter("plan", "monitoring", "stack-1.1.0")
	w.enter("apply", "monitoring", "stack-1.1.0")

	w.say("kubectl edit rule monitoring-stack-component-07 -n %s", w.namespace)
	w.patch("kubectl-edit", w.group()+"/v1", "Rule", "monitoring-stack-component-07", `{"spec":{"endpoints":[{"port":"http","interval":"5s"}]}}`)
	w.say("kubectl scale deployment monitoring-stack-component-10 --replicas 3 -n %s", w.namespace)
	w.patch("kubectl", "apps/v1", "Deployment", "monitoring-stack-component-10", `{"spec":{"replicas":3}}`)
	w.enter("drift", "monitoring")
	w.enter("plan", "monitoring", "stack-1.1.0")
	w.enter("drift", "monitoring", "--correct")
	w.enter("drift", "monitoring", "--correct", "-y")

	w.say("kubectl delete service/monitoring-stack-component-05 networkpolicy/monitoring-stack-component-07 -n %s", w.namespace)
	w.delete("v1", "Service", "monitoring-stack-component-05")
	w.delete("networking.k8s.io/v1", "NetworkPolicy", "monitoring-stack-component-07")
	w.enter("status", "monitoring")
	w.enter("diff", "monitoring", "stack-1.1.0")
	w.enter("apply", "monitoring", "stack-1.1.0")
	w.enter("status", "monitoring")
	w.enter("history", "monitoring")
	w.compare("4-thursday")
}

// friday adopts a release that Helm has installed, returns it, and deletes everything.
func (w *week) friday() {
	w.Helper()
	tool := helm4{}
	values := map[string]any{"definitions": map[string]any{"enabled": false}}
	w.say("helm install metrics stack-1.0.0 --set definitions.enabled=false --wait -n %s", w.namespace)
	w.must(tool.install(w.place, w.folder+"/stack-1.0.0", values, false))
	w.enter("adopt", "metrics", "--from-helm", "--delete-helm-record", "-y")
	w.enter("ls")
	w.enter("plan", "metrics", "stack-1.0.0", "--set", "definitions.enabled=false", "--exit-code")

	w.enter("apply", "metrics", "stack-1.0.0", "--set", "definitions.enabled=false")
	w.enter("plan", "metrics", "stack-1.0.0", "--set", "definitions.enabled=false", "--exit-code")
	w.enter("history", "metrics")

	w.enter("orphan", "metrics", "--all", "-y")
	w.enter("delete", "metrics", "-y")
	w.say("helm upgrade --install metrics stack-1.0.0 --set definitions.enabled=false --take-ownership --force-conflicts --wait -n %s", w.namespace)
	w.must(tool.install(w.place, w.folder+"/stack-1.0.0", values, true))
	w.say("for each object: kubectl apply --server-side --field-manager=clm.cs.sap.com, without any field")
	w.say("for each object: kubectl annotate clm.cs.sap.com/digest-")
	w.returned()
	w.say("helm upgrade metrics stack-1.1.0 --set definitions.enabled=false --wait -n %s", w.namespace)
	w.must(tool.upgrade(w.place, w.folder+"/stack-1.1.0", values))
	w.ofHelm("stack-1.1.0")

	w.enter("delete", "monitoring", "-y")
	w.say("helm uninstall metrics --wait -n %s", w.namespace)
	w.must(tool.uninstall(w.place))
	w.say("kubectl delete namespace %s --wait=false", w.namespace)
	namespace := w.object("v1", "Namespace", w.namespace)
	w.must(w.client.Delete(w.Context(), &namespace))
	w.awaitEmptiness()
	w.enter("ls")
	w.enter("status", "monitoring")
	w.enter("delete", "monitoring", "-y")
	w.expectNothing()
	w.enter("ls")
	w.compare("5-friday")
}
