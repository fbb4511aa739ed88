// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parceloperator

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/examples/parcel-operator/api/v1alpha1"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/manifests/generatortest"
)

// TestChart renders the chart for a minimal spec and for one with all fields.
func TestChart(t *testing.T) {
	t.Parallel()
	generator, err := newGenerator()
	if err != nil {
		t.Fatal(err)
	}
	routes := []v1alpha1.RouteSpec{{Name: "express", Stops: []string{"harbor", "airport"}}}
	database := v1alpha1.DatabaseSpec{PasswordSecretRef: &component.SecretKeyReference{Name: "database"}}
	password := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "database"}, StringData: map[string]string{"password": "from a Secret"}}
	generatortest.Run(t, generatortest.Suite{Generator: generator, ReconcilerName: Name},
		generatortest.Case{
			Name: "least", Reason: "only the region has no default",
			Namespace: "parcels", ComponentName: "main",
			Parameters: &v1alpha1.ParcelServiceSpec{Region: "north"},
		},
		generatortest.Case{
			Name: "most", Reason: "a host makes an Ingress, a route an instance of the chart's own type",
			Namespace: "parcels", ComponentName: "main",
			Parameters: &v1alpha1.ParcelServiceSpec{Region: "north", Host: "parcels.example.com", Routes: routes, Database: database},
			References: []client.Object{password},
		},
		generatortest.Case{
			Name: "without-password", Reason: "the component waits for the Secret",
			Parameters: &v1alpha1.ParcelServiceSpec{Region: "north", Database: database},
			Err:        `waiting for references: spec.database.passwordSecretRef: reading Secret default/database: secrets "database" not found`,
		},
		generatortest.Case{
			Name: "too-little", Reason: "the schema of the values refuses an empty region",
			Parameters: &v1alpha1.ParcelServiceSpec{},
			Err:        "region",
		},
	)
}
