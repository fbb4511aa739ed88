// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/doctor"
	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/testenv"
)

// TestDoctorLetsGoOfWhatOthersOwn changes an owner after the examination: what belongs to the release again stays in its record.
func TestDoctorLetsGoOfWhatOthersOwn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.open(testenv.Config(t))
	const always = ", annotations: {clm.cs.sap.com/adoption-policy: always}"
	p.apply(s, "a", "gone", "back", "own")
	p.apply(s, "b", "gone"+always, "back"+always)
	diagnosis, err := doctor.Examine(t.Context(), s, doctor.Request{Namespace: p.namespace})
	if err != nil {
		t.Fatal(err)
	}
	owner := "clm.cs.sap.com/" + p.namespace + "/a"
	patch := fmt.Sprintf(`{"metadata":{"labels":{"clm.cs.sap.com/owner-id":%q},"annotations":{"clm.cs.sap.com/owner-id":%q}}}`, digest.OwnerLabel(owner), owner)
	object := &corev1.ConfigMap{}
	object.Namespace, object.Name = p.namespace, "back"
	if err := p.client.Patch(t.Context(), object, client.RawPatch(apitypes.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	for _, finding := range diagnosis.Findings {
		if finding.Kind != doctor.FindingStolen {
			t.Errorf("unexpected finding %s: %s", finding.Kind, finding.Message)
		}
		if err := doctor.Repair(t.Context(), finding); err != nil {
			t.Error(err)
		}
	}
	if len(diagnosis.Findings) != 2 || p.recorders(s, "gone") != "b" || p.recorders(s, "back") != "a,b" || p.recorders(s, "own") != "a" {
		t.Errorf("%d findings; gone is recorded by %s, back by %s, own by %s", len(diagnosis.Findings), p.recorders(s, "gone"), p.recorders(s, "back"), p.recorders(s, "own"))
	}
	record, err := s.Records().Get(t.Context(), p.namespace, "a")
	if err != nil {
		t.Fatal(err)
	}
	current := record.Current()
	if want := "moved to release " + p.namespace + "/b: ConfigMap " + p.namespace + "/gone"; current.Description != want || current.Number != 2 || current.Objects != 2 {
		t.Errorf("want one revision more, of 2 objects, got %d of %d objects: %s", current.Number, current.Objects, current.Description)
	}
	p.delete(s, "b")
	p.delete(s, "a")
}
