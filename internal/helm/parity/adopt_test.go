// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAdopt makes a release of each version of Helm one of clm: with two revisions and one that has failed, hooks, and
// an object that is kept.
func TestAdopt(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]helmTool{"Helm3": helm3{}, "Helm3ConfigMaps": helm3{driver: "configmap"}, "Helm4": helm4{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			chart := p.chart("1.0.0", templates)
			p.must(tool.install(p, chart, values("red", 80), false))
			p.must(tool.upgrade(p, chart, values("blue", 80)))
			if err := tool.upgrade(p, chart, values("blue", 70000)); err == nil {
				t.Fatal("want the upgrade to fail")
			}
			p.adopt()
			p.expectHistory([][3]string{{"2", "Ready", "blue"}})
			p.goOn(chart)
			p.expect(p.clm(0, "adopt", "--from-helm", "web", "-y", "--delete-helm-record"), "already", "was deleted")
			if err := tool.uninstall(p); err == nil || !strings.Contains(err.Error(), "not found") {
				t.Errorf("want Helm not to know the release, got %v", err)
			}
			p.returnAndEnd()
		})
	}
}

// adopt makes the release one of clm. No hook must run, and the objects must have the marks of clm only.
func (p *place) adopt() {
	p.Helper()
	before := p.states()
	planned := p.clm(0, "adopt", "--from-helm", "web", "--dry-run=server")
	p.expect(planned, "~ ConfigMap PLACE/app  (adopt", "~ Deployment PLACE/web  (adopt", "belongs to Helm release PLACE/web", "4 to adopt, 3 unchanged")
	if diff := cmp.Diff(before, p.states()); diff != "" {
		p.Errorf("the plan has changed the objects:\n%s", diff)
	}
	adopted := p.clm(0, "adopt", "--from-helm", "web", "-y")
	p.expect(adopted, "Warning: Helm still has a record", "is ready (4 adopted, 3 unchanged")
	after := p.states()
	for _, hook := range []string{"Secret password", "Job upgrade", "Job setup"} {
		if before[hook] != after[hook] {
			p.Errorf("the hook %s was touched: %s has become %s", hook, before[hook], after[hook])
		}
	}
	for _, key := range [][3]string{{"v1", "ConfigMap", "app"}, {"v1", "ConfigMap", "kept"}, {"v1", "Service", "web"}, {"apps/v1", "Deployment", "web"}} {
		object := p.get(key[0], key[1], key[2])
		p.expectNone(fmt.Sprint(object.GetAnnotations()), "meta.helm.sh")
		// The chart declares the label in one of them; the others have got it from Helm.
		if _, labelled := object.GetLabels()["app.kubernetes.io/managed-by"]; labelled != (key[2] == "app") || object.GetLabels()["clm.cs.sap.com/owner-id"] == "" {
			p.Errorf("unexpected labels of %s: %v", key, object.GetLabels())
		}
	}
	if pods := p.list(p.Context(), "apps/v1", "ReplicaSet"); len(pods) != 2 {
		p.Errorf("the adoption has rolled the Deployment out again: %v", pods)
	}
}

// states has the identities of the objects, and the versions of those that nobody but Helm and clm changes; absent ones
// are left out.
func (p *place) states() map[string]string {
	p.Helper()
	states := map[string]string{}
	for _, key := range [][3]string{
		{"v1", "ConfigMap", "app"},
		{"v1", "ConfigMap", "kept"},
		{"v1", "Service", "web"},
		{"apps/v1", "Deployment", "web"},
		{"v1", "Secret", "password"},
		{"batch/v1", "Job", "upgrade"},
		{"batch/v1", "Job", "setup"},
	} {
		object := p.get(key[0], key[1], key[2])
		if object == nil {
			continue
		}
		states[key[1]+" "+key[2]] = string(object.GetUID())
		if key[1] == "ConfigMap" || key[1] == "Secret" {
			states[key[1]+" "+key[2]] += " " + object.GetResourceVersion()
		}
	}
	return states
}

// expectHistory requires revisions, as number, state, and the color among the values.
func (p *place) expectHistory(want [][3]string) {
	p.Helper()
	var got [][3]string
	for _, line := range strings.Split(p.clm(0, "history", "web"), "\n") {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] != "REVISION" {
			revision := p.clm(0, "get", "values", "web", "--revision", fields[0])
			_, color, _ := strings.Cut(revision, "color: ")
			color, _, _ = strings.Cut(color, "\n")
			got = append(got, [3]string{fields[0], fields[1], color})
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.Errorf("unexpected history:\n%s", diff)
	}
}

// goOn applies the same chart, whose only change is the run of the upgrade hook, and then a version of it that declares
// less: fields that Helm had set go.
func (p *place) goOn(chart string) {
	p.Helper()
	p.expect(p.clm(0, "plan", "web", chart, "--set", "color=blue,port=80"), "± Job PLACE/upgrade", "1 to recreate, 6 unchanged")
	upgrade, password := p.get("batch/v1", "Job", "upgrade").GetUID(), p.states()["Secret password"]
	less := p.chart("2.0.0", strings.NewReplacer(`, {name: OLD, value: "1"}`, "", `, old: "1"`, "").Replace(templates))
	p.clm(0, "apply", "web", less, "--set", "color=green,port=80")
	if diff := cmp.Diff(map[string]string{"color": "green"}, p.data("app")); diff != "" {
		p.Errorf("unexpected data:\n%s", diff)
	}
	containers, _, err := unstructured.NestedSlice(p.get("apps/v1", "Deployment", "web").Object, "spec", "template", "spec", "containers")
	p.must(err)
	p.expectNone(fmt.Sprint(containers), "OLD")
	if p.get("batch/v1", "Job", "upgrade").GetUID() == upgrade {
		p.Error("the upgrade hook has not run with the next revision")
	}
	if p.states()["Secret password"] != password || p.get("batch/v1", "Job", "setup") != nil {
		p.Error("a hook of installations has run")
	}
}

// returnAndEnd rolls back to the revision of Helm, and deletes the release.
func (p *place) returnAndEnd() {
	p.Helper()
	p.clm(0, "rollback", "web", "2")
	if diff := cmp.Diff(map[string]string{"color": "blue", "old": "1"}, p.data("app")); diff != "" {
		p.Errorf("unexpected data:\n%s", diff)
	}
	p.clm(0, "delete", "web", "-y")
	var left []string
	for object := range p.states() {
		left = append(left, object)
	}
	slices.Sort(left)
	// As with helm uninstall: it is to be kept, and what the hook of an installation has created is not part of the
	// release.
	if diff := cmp.Diff([]string{"ConfigMap kept", "Secret password"}, left); diff != "" {
		p.Errorf("unexpected objects after the deletion:\n%s", diff)
	}
}

// plain are templates of which each rendering is the same, and without hooks.
const plain = `
-- b.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {color: {{ .Values.color }}}}
-- a.yaml --
{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}
`

// TestAdoptedIsUpToDate adopts the newest revision: it has the number that Helm gave it, and the same chart with the
// same values is no new revision.
func TestAdoptedIsUpToDate(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]helmTool{"Helm3": helm3{}, "Helm4": helm4{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			chart := p.chart("1.0.0", plain)
			p.must(tool.install(p, chart, map[string]any{"color": "red"}, false))
			p.must(tool.upgrade(p, chart, map[string]any{"color": "blue"}))
			p.expect(p.clm(0, "adopt", "web", "--from-helm", "--delete-helm-record", "-y"), "revision 2, is ready (2 adopted", "was deleted")
			if records := p.records(); len(records) > 0 {
				t.Errorf("Helm's record was not deleted: %v", records)
			}
			p.clm(0, "plan", "web", chart, "--set", "color=blue", "--exit-code")
			p.expectHistory([][3]string{{"2", "Ready", "blue"}})
		})
	}
}

// TestUninstallAfterAdoption uninstalls the release with Helm, which still has its record. Helm from 4.3 on looks for
// its marks before it deletes objects.
func TestUninstallAfterAdoption(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must(helm4{}.install(p, p.chart("1.0.0", plain), map[string]any{"color": "red"}, false))
	p.clm(0, "adopt", "web", "--from-helm", "-y")
	p.must(helm4{}.uninstall(p))
	if p.data("b") == nil || len(p.records()) > 0 {
		t.Errorf("want Helm to forget the release and to leave the objects alone; there are ConfigMap b %v and records %v", p.data("b"), p.records())
	}
	p.clm(0, "doctor", "web")
	p.clm(0, "drift", "web")
}
