// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parceloperator

import (
	"testing"

	"github.com/component-operator/runtime/examples/parcel-operator/api/v1alpha1"
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
	generatortest.Run(t, generatortest.Suite{Generator: generator, ReconcilerName: Name},
		generatortest.Case{
			Name: "least", Reason: "only the region has no default",
			Namespace: "parcels", ComponentName: "main",
			Parameters: &v1alpha1.ParcelServiceSpec{Region: "north"},
		},
		generatortest.Case{
			Name: "most", Reason: "a host makes an Ingress, a route an instance of the chart's own type",
			Namespace: "parcels", ComponentName: "main",
			Parameters: &v1alpha1.ParcelServiceSpec{Region: "north", Host: "parcels.example.com", Routes: routes},
		},
		generatortest.Case{
			Name: "too-little", Reason: "the schema of the values refuses an empty region",
			Parameters: &v1alpha1.ParcelServiceSpec{},
			Err:        "region",
		},
	)
}
