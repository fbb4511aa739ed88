// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/testenv"
)

// TestAdoptFromHelmRefuses has releases of Helm that cannot be adopted. Nothing is changed or recorded then.
func TestAdoptFromHelmRefuses(t *testing.T) {
	t.Parallel()
	manifest := manifestOf("one")
	for name, tc := range map[string]struct {
		revisions []helmRevision
		want      string
	}{
		"Installing":   {[]helmRevision{{1, "pending-install", manifest, nil}}, "helm uninstall web -n PLACE"},
		"Upgrading":    {[]helmRevision{{1, "deployed", manifest, nil}, {2, "pending-upgrade", manifest, nil}}, "sh.helm.release.v1.web.v2 is pending-upgrade"},
		"RollingBack":  {[]helmRevision{{1, "deployed", manifest, nil}, {2, "pending-rollback", manifest, nil}}, "helm rollback web -n PLACE"},
		"Uninstalling": {[]helmRevision{{1, "uninstalling", manifest, nil}}, "is being uninstalled"},
		"Uninstalled":  {[]helmRevision{{1, "uninstalled", manifest, nil}}, "only its history is left"},
		"NeverThere":   {[]helmRevision{{1, "failed", manifest, nil}}, "no revision with status deployed"},
		"None":         {nil, "release PLACE/web of Helm: not found; Helm's Secrets and ConfigMaps were looked for in namespace PLACE"},
		"NoYAML":       {[]helmRevision{{1, "deployed", "# Source: shop/templates/a.yaml\n{kind: [}", nil}}, "Secret PLACE/sh.helm.release.v1.web.v1: revision 1: parsing shopDIR/a.yaml"},
		"UnknownHook": {
			[]helmRevision{{3, "deployed", manifest, map[string]string{"shop/templates/b.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {helm.sh/hook: never}}}`}}},
			`revision 3 of Helm release PLACE/web: ConfigMap b (shopDIR/b.yaml, document 1): annotation helm.sh/hook: invalid value "never"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.ofHelm("web", "one")
			p.recordHelm("web", tc.revisions...)
			before := p.version("one")
			got := p.clm("adopt", "web", "--from-helm", "--delete-helm-record")
			if got.code == 0 || !strings.Contains(p.stable(got.stderr), tc.want) {
				t.Errorf("want an error with %q, got exit code %d: %s", tc.want, got.code, p.stable(got.stderr))
			}
			if p.version("one") != before || len(p.helmRecords("web")) != len(tc.revisions) || len(p.records()) != len(tc.revisions) {
				t.Errorf("something was changed; the records are %v and %v", p.helmRecords("web"), p.records())
			}
		})
	}
}

// version returns the resource version of a ConfigMap.
func (p *place) version(name string) string {
	p.Helper()
	object := &corev1.ConfigMap{}
	if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, object); err != nil {
		p.Fatal(err)
	}
	return object.ResourceVersion
}

// TestAdoptFromHelmLeavesOthersAlone has objects of the manifest that belong to others: to another release of clm or of
// Helm, or to a controller. They are named, and nothing is adopted.
func TestAdoptFromHelmLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		prepare func(p *place)
		want    string
	}{
		"Release": {
			func(p *place) {
				p.must("apply", "other", p.file("other.yaml", manifestOf("taken")))
				p.as("helm", configMapKind, "taken", fmt.Sprintf(`{"metadata":{"annotations":{"meta.helm.sh/release-name":"web","meta.helm.sh/release-namespace":%q}}}`, p.namespace))
			},
			"belongs to release PLACE/other",
		},
		"HelmRelease": {func(p *place) { p.ofHelm("other", "taken") }, "belongs to Helm release PLACE/other"},
		"Controller": {
			func(p *place) {
				p.ofHelm("web", "taken")
				p.as("helm", configMapKind, "taken", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"one","uid":%q,"controller":true}]}}`, p.uids("one")["one"]))
			},
			"is controlled by ConfigMap one",
		},
		"Operator": {
			func(p *place) {
				p.ofHelm("web", "taken")
				p.as("helm", configMapKind, "taken", `{"metadata":{"labels":{"other.example.com/owner-id":"abc"}}}`)
			},
			"belongs to operator other.example.com",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.ofHelm("web", "one")
			p.recordHelm("web", helmRevision{1, "deployed", manifestOf("one", "taken"), nil})
			tc.prepare(p)
			before := p.version("one") + p.version("taken")
			got := p.clm("adopt", "web", "--from-helm")
			if got.code != exitRefused || !strings.Contains(p.stable(got.stderr), "ConfigMap PLACE/taken: already exists and "+tc.want) {
				t.Errorf("want %q, got exit code %d: %s", tc.want, got.code, p.stable(got.stderr))
			}
			if after := p.version("one") + p.version("taken"); after != before {
				t.Error("an object was changed")
			}
		})
	}
}

// TestDeleteAfterAnInterruptedAdoption deletes a release whose adoption was interrupted before it had adopted anything:
// the objects still belong to Helm.
func TestDeleteAfterAnInterruptedAdoption(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ofHelm("web", "one", "two")
	p.recordHelm("web", helmRevision{1, "superseded", manifestOf("one"), nil}, helmRevision{2, "deployed", manifestOf("one", "two"), nil})
	before := p.version("one") + p.version("two")
	x := newProxy(t, func(x *proxy) {
		x.before = func(request testenv.Request) bool {
			return request.Resource != "configmaps" || !request.IsWrite() || request.Query.Get("dryRun") != ""
		}
	})
	if got := p.through(x).clm("adopt", "web", "--from-helm", "--delete-helm-record", "--timeout", "2s"); got.code == 0 {
		t.Fatalf("want the adoption to fail: %s", got.stderr)
	}
	if diff := cmp.Diff([]string{"Failed: Helm: done"}, p.descriptions("web")); diff != "" {
		t.Errorf("unexpected history:\n%s", diff)
	}
	p.must("delete", "web")
	if after := p.version("one") + p.version("two"); after != before || len(p.helmRecords("web")) != 2 {
		t.Errorf("objects or records of Helm were changed: %s has become %s, and the records are %v", before, after, p.helmRecords("web"))
	}
	p.must("adopt", "web", "--from-helm", "--delete-helm-record")
	if diff := cmp.Diff([]string{"Ready: Helm: done"}, p.descriptions("web")); diff != "" {
		t.Errorf("unexpected history:\n%s", diff)
	}
}

// helmAdopter adopts Helm releases with a process that is killed.
type helmAdopter struct {
	*place

	mortal *mortal
}

// round reports whether the adoption was killed at its k-th write. The next one has to finish.
func (w *helmAdopter) round(k int) bool {
	w.Helper()
	release := fmt.Sprintf("n%d", k)
	one, two, hook := release+"-one", release+"-two", release+"-hook"
	w.ofHelm(release, one, two)
	hooks := map[string]string{"shop/templates/hook.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + hook + ", annotations: {helm.sh/hook: pre-install}}}"}
	w.recordHelm(release, helmRevision{4, "superseded", manifestOf(one), hooks}, helmRevision{5, "failed", manifestOf(one), hooks}, helmRevision{6, "deployed", manifestOf(one, two), hooks})
	killed := w.mortal.run(w.place, k, "adopt", release, "--from-helm", "--delete-helm-record")
	if got := w.clm("adopt", release, "--from-helm", "--delete-helm-record"); got.code != 0 && (got.code != exitRefused || len(w.helmRecords(release)) > 0) {
		w.Errorf("the adoption after one that was killed: exit code %d\n%s", got.code, got.stderr)
	}
	want := []string{"Ready: Helm: done"}
	if diff := cmp.Diff(want, w.descriptions(release)); diff != "" {
		w.Errorf("unexpected history:\n%s", diff)
	}
	if got := w.must("get", "values", release, "--revision", "6"); strings.TrimSpace(got.stdout) != "number: 6" {
		w.Errorf("unexpected values: %s", got.stdout)
	}
	for _, name := range []string{one, two} {
		if w.owner(name) != release || w.helmMarks(name) != "" {
			w.Errorf("%s belongs to %q, and has marks %q of Helm", name, w.owner(name), w.helmMarks(name))
		}
	}
	if w.owner(hook) != "none" || len(w.helmRecords(release)) > 0 {
		w.Errorf("the owner of the hook is %q, and Helm's records are %v", w.owner(hook), w.helmRecords(release))
	}
	if w.Failed() {
		w.Logf("killed at write %d", k)
	}
	return killed
}

// TestDeathInAnAdoptionFromHelm kills clm at each write of an adoption.
func TestDeathInAnAdoptionFromHelm(t *testing.T) {
	t.Parallel()
	// One revision, two objects in two writes each, and three records of Helm, at least.
	killAtEach(t, 2, 10, func(m *mortal) func(int) bool {
		return (&helmAdopter{place: newPlace(t), mortal: m}).round
	})
}

// TestGeneratedOnceStays is about what the hooks of an installation have generated, such as a password: neither the
// takeover from Helm nor the loss of the record generates it again.
func TestGeneratedOnceStays(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	dir := t.TempDir()
	p.write(filepath.Join(dir, "Chart.yaml"), "{apiVersion: v2, name: once, version: 1.0.0}")
	p.write(filepath.Join(dir, "templates", "all.yaml"), `
{apiVersion: v1, kind: ConfigMap, metadata: {name: password, annotations: {helm.sh/hook: pre-install}}, data: {value: {{ randAlphaNum 12 }}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: app}, data: {value: "1"}}
`)
	p.theirs("password", "app")
	before := p.uids("password", "app")
	p.must("apply", "web", dir)
	p.expectValues(map[string]string{"password": "theirs", "app": "1"})

	p.loseIndex("web")
	p.must("doctor", "web", "--fix", "-y")
	p.must("apply", "web", dir)
	p.expectValues(map[string]string{"password": "theirs", "app": "1"})
	for name, uid := range p.uids("password", "app") {
		if uid != before[name] {
			t.Errorf("%s was recreated", name)
		}
	}
	p.must("delete", "web")
}

// helmRevision is a revision of a Helm release, recorded as Helm 3 and 4 do. The tests in internal/helm/parity
// work with records that Helm itself has written.
type helmRevision struct {
	number           int
	status, manifest string
	// hooks are manifests by their files.
	hooks map[string]string
}

// recordHelm records revisions of a Helm release, which has the value number.
func (p *place) recordHelm(release string, revisions ...helmRevision) {
	p.Helper()
	p.recordDescribed(release, "done", revisions...)
}

// recordDescribed is recordHelm with a description of all revisions.
func (p *place) recordDescribed(release, description string, revisions ...helmRevision) {
	p.Helper()
	for _, revision := range revisions {
		hooks := []map[string]any{}
		for path, manifest := range revision.hooks {
			hooks = append(hooks, map[string]any{"path": path, "manifest": manifest})
		}
		raw, err := json.Marshal(map[string]any{
			"name": release, "namespace": p.namespace, "version": revision.number, "manifest": revision.manifest, "hooks": hooks,
			"config": map[string]any{"number": revision.number},
			"chart":  map[string]any{"metadata": map[string]any{"name": "shop", "version": fmt.Sprintf("1.0.%d", revision.number), "apiVersion": "v2"}},
			"info": map[string]any{
				"status": revision.status, "description": description, "first_deployed": "2024-01-01T00:00:00Z",
				"last_deployed": fmt.Sprintf("2024-01-01T00:00:%02d.123456789Z", revision.number), "deleted": "",
			},
		})
		if err != nil {
			p.Fatal(err)
		}
		var compressed bytes.Buffer
		writer := gzip.NewWriter(&compressed)
		if _, err := writer.Write(raw); err != nil {
			p.Fatal(err)
		}
		if err := writer.Close(); err != nil {
			p.Fatal(err)
		}
		p.createAs("helm", &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name:   fmt.Sprintf("sh.helm.release.v1.%s.v%d", release, revision.number),
				Labels: map[string]string{"owner": "helm", "name": release, "status": revision.status, "version": fmt.Sprint(revision.number)},
			},
			Type: "helm.sh/release.v1",
			Data: map[string][]byte{"release": []byte(base64.StdEncoding.EncodeToString(compressed.Bytes()))},
		})
	}
}

// createAs creates an object as a field manager.
func (p *place) createAs(manager string, object client.Object) {
	p.Helper()
	object.SetNamespace(p.namespace)
	if err := p.client.Create(p.Context(), object, client.FieldOwner(manager)); err != nil {
		p.Fatal(err)
	}
}

// ofHelm creates ConfigMaps as Helm does, each with its name as value.
func (p *place) ofHelm(release string, names ...string) {
	p.Helper()
	for _, name := range names {
		p.createAs("helm", &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
				Annotations: map[string]string{"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": p.namespace},
			},
			Data: map[string]string{"value": name},
		})
	}
}

// helmMarks returns the annotations of Helm on a ConfigMap, and whether it has the label that Helm sets.
func (p *place) helmMarks(name string) string {
	p.Helper()
	object := &corev1.ConfigMap{}
	if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, object); err != nil {
		p.Fatal(err)
	}
	return object.Annotations["meta.helm.sh/release-name"] + object.Annotations["meta.helm.sh/release-namespace"] + object.Labels["app.kubernetes.io/managed-by"]
}

// helmRecords returns the names of the Secrets in which Helm has recorded a release.
func (p *place) helmRecords(release string) []string {
	p.Helper()
	list := &corev1.SecretList{}
	if err := p.client.List(p.Context(), list, client.InNamespace(p.namespace), client.MatchingLabels{"owner": "helm", "name": release}); err != nil {
		p.Fatal(err)
	}
	var names []string
	for _, secret := range list.Items {
		names = append(names, secret.Name)
	}
	return names
}
