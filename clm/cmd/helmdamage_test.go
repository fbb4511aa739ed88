// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// damageHelm makes the record of a revision of Helm unreadable.
func (p *place) damageHelm(release string, number int) {
	p.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", release, number)}}
	if err := p.client.Patch(p.Context(), secret, client.RawPatch(types.MergePatchType, []byte(`{"data":{"release":"ISE="}}`))); err != nil {
		p.Fatal(err)
	}
}

// TestAdoptFromHelmLeavesOutDamagedRevisions has old revisions of which one has a damaged record, and one a hook that nobody knows.
func TestAdoptFromHelmLeavesOutDamagedRevisions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	unknown := map[string]string{"shop/templates/b.yaml": `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {helm.sh/hook: never}}}`}
	p.ofHelm("web", "one")
	p.recordHelm("web",
		helmRevision{1, "superseded", manifestOf("one"), nil}, helmRevision{2, "superseded", manifestOf("one"), unknown},
		helmRevision{3, "superseded", manifestOf("one"), hook}, helmRevision{4, "deployed", manifestOf("one"), hook})
	p.damageHelm("web", 1)
	got := p.must("adopt", "web", "--from-helm", "--delete-helm-record")
	for _, want := range []string{
		"Warning: revision 1 is left out: reading Helm's record in Secret PLACE/sh.helm.release.v1.web.v1: decoding base64",
		"Warning: revision 2 is left out: revision 2 of Helm release PLACE/web, in Secret sh.helm.release.v1.web.v2: ConfigMap b",
		"Helm release PLACE/web has 3 revisions; revision 4 is deployed",
		"Helm's record of release PLACE/web (Secret sh.helm.release.v1.web.v1 to Secret sh.helm.release.v1.web.v4) was deleted",
	} {
		if !strings.Contains(p.stable(got.stderr), p.stable(want)) {
			t.Errorf("%q is missing in:\n%s", want, p.stable(got.stderr))
		}
	}
	if numbers := p.must("history", "web", "-o", "jsonpath={.items[*].status.number}").stdout; numbers != "3 4" {
		t.Errorf("got revisions %s", numbers)
	}
	if p.owner("one") != "web" || len(p.helmRecords("web")) > 0 {
		t.Errorf("the owner is %q, and Helm's records are %v", p.owner("one"), p.helmRecords("web"))
	}
}

// TestAdoptFromHelmNeedsTheInstalledRevision has damaged records of revisions that may be installed.
func TestAdoptFromHelmNeedsTheInstalledRevision(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.ofHelm("web", "one")
	p.recordHelm("web", helmRevision{1, "deployed", manifestOf("one"), nil}, helmRevision{2, "deployed", manifestOf("one"), nil})
	p.damageHelm("web", 2)
	before := p.version("one")
	p.expect(p.clm("adopt", "web", "--from-helm"), 1, "reading Helm's record in Secret PLACE/sh.helm.release.v1.web.v2: decoding base64")
	if p.version("one") != before {
		t.Error("the object was changed")
	}
}

// TestFieldsOfProgramsWithHelm adopts objects with a field that is not declared, set by the program that has installed them.
func TestFieldsOfProgramsWithHelm(t *testing.T) {
	t.Parallel()
	for program, stays := range map[string]bool{
		"helm": false, "terraform-provider-helm_v2.17.0_x5": false, "helm-controller": true, "helm-operator": true,
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.createAs(program, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{
					Name: "one", Annotations: map[string]string{"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": p.namespace},
				},
				Data: map[string]string{"value": "one", "extra": "x"},
			})
			p.recordHelm("web", helmRevision{1, "deployed", manifestOf("one"), nil})
			got := p.must("adopt", "web", "--from-helm")
			if _, has := p.configMap("one")["extra"]; has != stays {
				t.Errorf("want the field to stay: %t, got: %t", stays, has)
			}
			warning := "Warning: objects of the release were installed by " + program + ", a program with Helm's packages."
			if strings.Contains(got.stderr, warning) != stays {
				t.Errorf("want a warning: %t, got:\n%s", stays, got.stderr)
			}
		})
	}
}
