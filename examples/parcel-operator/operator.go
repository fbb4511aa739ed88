// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parceloperator

import (
	"embed"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/component-operator/runtime/examples/parcel-operator/api/v1alpha1"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/manifests/helm"
)

// Name is the name of the operator. It is the prefix of the annotations in the chart, the field manager of all writes
// and the finalizer of components. If it changes, the operator no longer recognizes its dependents.
const Name = "parcel-operator.example.io"

// CRD is the definition of ParcelService. It must be in the cluster before the operator starts.
//
//go:embed crds/example.io_parcelservices.yaml
var CRD []byte

//go:embed all:chart
var chart embed.FS

// NewScheme returns a scheme with the types that a manager needs to run the operator.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// SetupWithManager adds the operator to a manager whose scheme has the types of NewScheme. The options are those of
// the component reconciler; the operator itself uses their zero value.
func SetupWithManager(mgr ctrl.Manager, options component.ReconcilerOptions) error {
	generator, err := newGenerator()
	if err != nil {
		return err
	}
	reconciler := component.NewReconciler[*v1alpha1.ParcelService](Name, generator, options)
	return reconciler.SetupWithManager(mgr)
}

func newGenerator() (manifests.Generator, error) {
	generator, err := helm.New(chart, "chart", helm.Options{})
	if err != nil {
		return nil, fmt.Errorf("loading the chart: %w", err)
	}
	return generator, nil
}
