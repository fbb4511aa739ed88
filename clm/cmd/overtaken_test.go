// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/testenv"
)

// later puts the Deployment of scaled into the second wave.
func later(deployment string) string {
	return strings.Replace(deployment, "await: never", `await: never, clm.cs.sap.com/apply-order: "1"`, 1)
}

// atWrite returns a place whose requests go through a proxy. It calls a function once, right before the named object is written for the first time.
func (p *place) atWrite(resource, name string, call func()) *place {
	p.Helper()
	var once sync.Once
	return p.through(newProxy(p.T, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			if request.IsWrite() && request.Resource == resource && request.Name == name && request.Query.Get("dryRun") == "" {
				once.Do(call)
			}
			return true
		}
	}))
}

// TestAnApplyGoesOnWithAnotherPlan has an autoscaler scale when hooks have run, and the first wave is about to be written.
func TestAnApplyGoesOnWithAnotherPlan(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	appeared := p.jobsThatAppear()
	const each = "on-object-or-component-change"
	hook := job("migrate", "reconcile-policy", each, "update-policy", "recreate", "await", "never", "apply-order", "-1")
	chart := func(image string) string {
		folder := t.TempDir()
		p.write(folder+"/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n")
		revision := strings.Replace(configMap("first", image), "{value:", `{revision: "{{ .Release.Revision }}", value:`, 1)
		p.write(folder+"/templates/all.yaml", revision+"---"+later(scaled(1, image))+hook)
		return folder
	}
	const keep = "--conflicts=keep"
	p.must("apply", "web", chart("a"), keep)
	second := chart("b")
	got := p.atWrite("configmaps", "first", func() { p.scale(3) }).clm("apply", "web", second, keep)
	p.expect(got, 0, "release PLACE/web, revision 3, is ready", "(1 run again, 2 updated")
	p.expectScaled("overtaken", "3 b info", "spec.replicas")
	if diff := cmp.Diff([]string{"migrate", "migrate"}, appeared("")); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	want := map[string]string{"value": "b", "revision": "2"}
	if diff := cmp.Diff(want, p.configMap("first")); diff != "" {
		t.Errorf("the manifest is rendered once (-want +got):\n%s", diff)
	}
	p.expectHistory("Superseded", "Failed", "Ready")
	p.expect(p.clm("history", "web"), 0, "continued as revision 3, which leaves further fields to other field managers")
	p.expectIdle("overtaken", second)
	p.must("delete", "web")
}

// installedWithLater installs a release whose Deployment is written when a gate is open, closes that, and returns the function that makes its manifests.
func (p *place) installedWithLater() (file func(image string) string) {
	p.Helper()
	file = func(image string) string {
		return p.file("app.yaml", configMap("first", image)+"---"+gate+later(scaled(1, image)))
	}
	first := p.background(p.Context(), "apply", "web", file("a"))
	p.reachGate()
	p.openGate()
	p.expect(<-first, 0)
	p.setGate("False")
	return file
}

// TestAnApplyThatWaitsIsOvertaken has an autoscaler scale what is to be written when an earlier wave is ready.
func TestAnApplyThatWaitsIsOvertaken(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.installedWithLater()
	source := file("b")
	second, said := p.start("apply", "web", source, "--conflicts=keep")
	p.says(said, "gate: waiting")
	p.scale(3)
	p.openGate()
	p.ended(second, said, 0, "revision 3, is ready (2 updated, ")
	p.expectScaled("overtaken", "3 b info", "spec.replicas")
	p.expectIdle("overtaken", source)
	p.must("delete", "web")
}

// TestRefusingWhileWaiting: with --conflicts=refuse, what others change before it is written, in a later wave, is not taken from them either.
func TestRefusingWhileWaiting(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := p.installedWithLater()
	second, said := p.start("apply", "web", file("b"), "--conflicts=refuse")
	p.says(said, "gate: waiting")
	p.scale(3)
	p.openGate()
	p.ended(second, said, exitRefused, "the plan is outdated: Deployment ", "was changed by another client since the plan was made")
	p.expectScaled("refused", "3 a info", "")
	p.must("delete", "web")
}

// TestRecreatingIsNoConflict: that an apply has to wait until an object is gone that it deletes itself, to recreate it, does not make its plan outdated.
func TestRecreatingIsNoConflict(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	file := func(value string) string {
		recreated := strings.Replace(configMap("recreated", value), "{name: recreated}", "{name: recreated, annotations: {clm.cs.sap.com/update-policy: recreate}}", 1)
		return p.file("app.yaml", recreated+later(scaled(1, value)))
	}
	const keep = "--conflicts=keep"
	p.must("apply", "web", file("a"), keep)
	p.as("somebody", configMapKind, "recreated", `{"metadata":{"finalizers":["example.com/waits"]}}`)
	second, said := p.start("apply", "web", file("b"), keep)
	p.says(said, "recreated: waiting: being deleted")
	p.as("somebody", configMapKind, "recreated", `{"metadata":{"finalizers":null}}`)
	p.ended(second, said, 0, "revision 2, is ready")
	p.expectHistory("Superseded", "Ready")
	p.must("delete", "web")
}

// TestDriftThatIsOvertaken has another client change a field of an object of which another field is to be restored.
func TestDriftThatIsOvertaken(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	appeared := p.jobsThatAppear()
	hook := job("migrate", "reconcile-policy", "on-object-or-component-change", "update-policy", "recreate", "await", "never")
	second := strings.Replace(configMap("second", "1"), "{value:", "{more: ours, value:", 1)
	source := p.file("app.yaml", configMap("first", "1")+strings.Replace(second, "{name: second}", `{name: second, annotations: {clm.cs.sap.com/apply-order: "1"}}`, 1)+hook)
	p.must("apply", "web", source)
	p.as("somebody", configMapKind, "first", `{"data":{"value":null}}`)
	p.as("somebody", configMapKind, "second", `{"data":{"more":null}}`)
	got := p.atWrite("configmaps", "first", func() { p.change("second", "theirs") }).clm("apply", "web", source, "--conflicts=keep")
	p.expect(got, 0, "release PLACE/web, revision 2, is ready", "(1 corrected, 1 updated, ")
	if diff := cmp.Diff(map[string]string{"value": "theirs", "more": "ours"}, p.configMap("second")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"migrate"}, appeared("")); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
	p.expectHistory("Superseded", "Ready")
	p.expectIdle("overtaken", source)
	p.must("delete", "web")
}

// TestApprovalThatIsOvertaken has an autoscaler scale between the two plans that a command with an approval makes.
func TestApprovalThatIsOvertaken(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	precious := strings.Replace(configMap("precious", "1"), "{name: precious}", `{name: precious, annotations: {clm.cs.sap.com/prune-policy: confirm}}`, 1)
	p.must("apply", "web", p.file("app.yaml", scaled(1, "a")+precious))
	const keep = "--conflicts=keep"
	source := p.file("app.yaml", scaled(1, "b"))
	refused := p.clm("apply", "web", source, keep)
	p.expect(refused, exitRefused, "ConfigMap PLACE/precious")
	approved := regexp.MustCompile(`--approve-deletions (\S+)`).FindStringSubmatch(refused.stderr)[1]
	var once sync.Once
	x := newProxy(t, func(x *proxy) {
		x.after = func(request testenv.Request) bool {
			if request.Resource == "deployments" && request.Query.Get("dryRun") != "" {
				once.Do(func() { p.scale(3) })
			}
			return true
		}
	})
	p.expect(p.through(x).clm("apply", "web", source, keep, "--approve-deletions", approved), 0, "ConfigMap PLACE/precious: deleted", "is ready")
	p.expectScaled("overtaken", "3 b info", "spec.replicas")
	p.must("delete", "web")
}

// TestAFirstInstallationThatIsOvertaken is reverted like any other: the release is deleted, and its timeout is that of the command.
func TestAFirstInstallationThatIsOvertaken(t *testing.T) {
	t.Parallel()
	first := strings.Replace(scaled(1, "a"), "await: never", `await: never, clm.cs.sap.com/apply-order: "-1"`, 1)
	var p *place
	var got result
	timeout := inTime(func(timeout string) bool {
		p = newPlace(t)
		source := p.file("app.yaml", first+configMap("theirs", "1")+"---"+gate)
		x := p.atWrite("configmaps", "theirs", func() {
			p.scale(3)
			p.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}})
		})
		got = x.clm("apply", "web", source, "--conflicts=keep", "--revert-on-failure", "--timeout", timeout)
		return strings.Contains(got.stderr, "(1 adopted, ") && strings.Contains(got.stderr, "was deleted")
	})
	p.expect(got, exitNotReady, "timed out after "+timeout+" (1 adopted, ", "release PLACE/web was deleted", "These objects existed before the release")
	if p.configMap("theirs") == nil {
		t.Error("want what was adopted to be kept")
	}
	if left := p.names("apps/v1", "Deployment"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
