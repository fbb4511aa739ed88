// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// forgetKeptFields saves the record of the release as a clm does that does not know of kept fields.
func (p *place) forgetKeptFields() {
	p.Helper()
	index := &corev1.Secret{}
	if err := p.client.Get(p.Context(), client.ObjectKey{Namespace: p.namespace, Name: "clm.web"}, index); err != nil {
		p.Fatal(err)
	}
	older := strings.ReplaceAll(string(index.Data["release"]), `,"keepsFields":true`, "")
	if older == string(index.Data["release"]) {
		p.Fatalf("want a record with kept fields, got %s", older)
	}
	p.as("older", secretKind, "clm.web", fmt.Sprintf(`{"data":{"release":%q}}`, base64.StdEncoding.EncodeToString([]byte(older))))
}

// TestKeptFieldsOfARecordOfAnOlderClm: one that does not know of kept fields has saved the record.
func TestKeptFieldsOfARecordOfAnOlderClm(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", scaled(1, "a")))
	p.scale(3)
	p.must("apply", "web", p.file("app.yaml", scaled(1, "b")), "--conflicts=keep")
	p.forgetKeptFields()
	p.expect(p.clm("apply", "web", p.file("app.yaml", scaled(1, "b")), "--conflicts=keep"), 0, "release PLACE/web, revision 2, is up to date")
	p.expectScaled("the recorded revision", "3 b info", "spec.replicas")
	p.must("delete", "web")
}

// TestKeptFieldsOfAFailureThatAnOlderClmHasRecorded: the revision has become ready since, and there is drift to be corrected.
func TestKeptFieldsOfAFailureThatAnOlderClmHasRecorded(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.must("apply", "web", p.file("app.yaml", scaled(1, "a")))
	p.scale(3)
	source := p.file("app.yaml", scaled(1, "b")+configMap("a", "1")+"---"+gate)
	p.expect(p.timesOut("Deployment PLACE/web: updated", "apply", "web", source, "--conflicts=keep", "--timeout", "10m"), exitNotReady)
	p.openGate()
	p.forgetKeptFields()
	p.as("somebody", configMapKind, "a", `{"data":{"value":null}}`)
	p.expect(p.clm("apply", "web", source, "--conflicts=keep"), 0, "release PLACE/web, revision 2, is ready")
	p.expectScaled("the recorded revision", "3 b info", "spec.replicas")
	p.expectValues(map[string]string{"a": "1"})
	p.expectHistory("Superseded", "Ready")
	p.must("delete", "web")
}
