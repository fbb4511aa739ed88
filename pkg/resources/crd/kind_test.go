// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/pkg/resources/concepts"
	"github.com/component-operator/runtime/pkg/resources/internal/resourcestest"
)

func sample() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"}}
}

func with(conditions ...apiextensionsv1.CustomResourceDefinitionCondition) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: conditions}}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	type condition = apiextensionsv1.CustomResourceDefinitionCondition
	accepted := condition{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts"}
	refused := condition{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionFalse, Reason: "PluralConflict", Message: "widgets is taken"}
	established := condition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, Reason: "InitialNamesAccepted"}
	installing := condition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse, Reason: "Installing"}

	const missing, conflict, found = "Waiting for Established to be True", "NamesAccepted is False: PluralConflict: widgets is taken", "Established is True"
	waiting, degraded := resourcestest.Operational(concepts.OperationalStatusPending, missing), resourcestest.Grace(concepts.GraceStatusDegraded, missing)
	failing, down := resourcestest.Operational(concepts.OperationalStatusFailing, conflict), resourcestest.Grace(concepts.GraceStatusDown, conflict)
	resourcestest.CheckStates(t, NewBuilder(sample()), []resourcestest.State[*apiextensionsv1.CustomResourceDefinition, concepts.OperationalStatusWithReason]{
		{Why: "nothing is known yet", Object: with(), Status: waiting, Grace: degraded},
		{Why: "objects cannot be created yet", Object: with(accepted, installing), Status: waiting, Grace: degraded},
		{
			Why: "objects can be created", Object: with(accepted, established),
			Status: resourcestest.Operational(concepts.OperationalStatusOperational, found), Grace: resourcestest.Grace(concepts.GraceStatusHealthy, found),
		},
		{Why: "its names are taken", Object: with(refused, installing), Status: failing, Grace: down},
		{Why: "its new names are taken", Object: with(established, refused), Status: failing, Grace: down},
	})
	resourcestest.CheckNoSuspension(t, NewBuilder(sample()))
}

func TestMutator(t *testing.T) {
	t.Parallel()
	m := NewMutator(sample())
	resourcestest.CheckOrder(t, m, resourcestest.Metadata(m), resourcestest.Recorded("definition spec", m.EditCRDSpec))
}

func TestBuild(t *testing.T) {
	t.Parallel()
	resourcestest.CheckBuild(t, NewBuilder, sample, "apiextensions.k8s.io/v1/CustomResourceDefinition/widgets.example.com")
}
