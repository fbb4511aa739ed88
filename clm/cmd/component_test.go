// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/component-operator/runtime/examples/parcel-operator/api/v1alpha1"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/component"
	"github.com/component-operator/runtime/pkg/generator"
	runtimetypes "github.com/component-operator/runtime/pkg/types"
)

const parcelObjects = `
- {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {region: REGION}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: api, annotations: {NAME/apply-order: "1"}}
  spec:
    selector: {matchLabels: {app: api}}
    template:
      metadata: {labels: {app: api}}
      spec: {nodeSelector: {SELECTOR}, terminationGracePeriodSeconds: 0, containers: [{name: api, image: api}]}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: last, annotations: {NAME/apply-order: "2"}}}
`

// installParcelServices defines the type of components, and waits until it is served.
func (p *place) installParcelServices() {
	p.Helper()
	definition, err := os.ReadFile("../../examples/parcel-operator/crds/example.io_parcelservices.yaml")
	if err != nil {
		p.Fatal(err)
	}
	if err := p.client.Patch(p.Context(), testenv.Object(p, string(definition)), client.Apply, client.FieldOwner("component-test"), client.ForceOwnership); err != nil { //nolint:staticcheck // an unstructured object
		p.Fatal(err)
	}
	testenv.Eventually(p, func() (bool, string) {
		got := p.clm("status", "parcelservice/none")
		return strings.Contains(got.stderr, `parcelservices.example.io "none" not found`), got.stderr
	})
}

// TestComponents has clm look at a component of a running operator.
func TestComponents(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.installParcelServices()
	scheme := testenv.Scheme(t)
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	name := p.namespace + ".example.com"
	objects := generator.Func(func(_ context.Context, _, _ string, parameters runtimetypes.Unstructurable) ([]client.Object, error) {
		region, _ := parameters.ToUnstructured()["region"].(string)
		selector := ""
		if region == "nowhere" {
			selector = "no: such-node"
		}
		var documents []any
		if err := yaml.Unmarshal([]byte(strings.NewReplacer("NAME", name, "REGION", region, "SELECTOR", selector).Replace(parcelObjects)), &documents); err != nil {
			return nil, err
		}
		var objects []client.Object
		for _, document := range documents {
			text, err := yaml.Marshal(document)
			if err != nil {
				return nil, err
			}
			objects = append(objects, testenv.Object(t, string(text)))
		}
		return objects, nil
	})
	demo := testenv.Object(t, "{apiVersion: example.io/v1alpha1, kind: ParcelService, metadata: {name: demo}, spec: {region: nowhere}}")
	p.create(demo)
	p.ends([]string{"status", "parcelservice/demo"}, exitNotReady, "Component:  ParcelService PLACE/demo\n", "State:      the operator has not reconciled it yet\n")
	startOperator(t, scheme, p.namespace, func(mgr ctrl.Manager) error {
		return component.NewReconciler[*v1alpha1.ParcelService](name, objects, component.ReconcilerOptions{}).SetupWithManager(mgr)
	})
	// The deployment cannot be scheduled; what comes after it waits.
	testenv.Eventually(t, func() (bool, string) {
		got := p.clm("status", "parcelservices.example.io/demo")
		return got.code == exitNotReady && strings.Contains(got.stdout, "cannot be scheduled"), got.stdout + got.stderr
	})
	p.ends([]string{"status", "parcelservice/demo"}, exitNotReady, "Component:  ParcelService PLACE/demo\n", "State:      Processing, Processing (not ready for ",
		"Revision:   1\n", "Waves:      0  ✓ 1 ready\n            1  ▸ 1 not ready\n            2  · 1 pending\n", "Deployment PLACE/api  InProgress")
	p.ends([]string{"status", "parcelservice/demo", "-o", "json"}, exitNotReady, `"kind": "Component"`, `"ready": false`, `"state": "Processing"`, `"unready": [`)
	p.ends([]string{"tree", "parcelservice/demo", "--why"}, 0, "ConfigMap PLACE/settings", "└─ ReplicaSet api-", "cannot be scheduled", "ConfigMap PLACE/last")
	p.ends([]string{"tree", "parcelservice/demo", "-o", "name"}, 0, "deployment.apps/api\n", "pod/api-")
	p.ends([]string{"events", "parcelservice/demo", "--types", "Warning"}, 0, "FailedScheduling")
	p.ends([]string{"logs", "parcelservice/demo", "deployment/none"}, exitRefused, "ParcelService PLACE/demo has no dependent deployment/none; to list them: clm tree parcelservices.example.io/demo -n PLACE")
	p.ends([]string{"status", "deployment/api"}, exitRefused, "Deployment PLACE/api is no component: no operator has reported its status.state")
	p.ends([]string{"plan", "parcelservice/demo", "FILE"}, 1, `"parcelservice/demo" is not the name of a release`, "run the operator's program with the arguments plan demo --diff")
	p.ends([]string{"delete", "parcelservice/demo"}, 1, "the commands for components are: clm status, tree, events, logs, reconcile")

	// Who watches sees it become ready, and then go.
	watch := func(change func() error, args ...string) result {
		t.Helper()
		var output testenv.Output
		_, end := p.follow(&output, args...)
		testenv.Eventually(t, func() (bool, string) {
			return strings.Contains(output.String(), "Waves:") || strings.Contains(output.String(), "settings"), output.String()
		})
		if err := change(); err != nil {
			t.Fatal(err)
		}
		return result{code: end(), stdout: output.String()}
	}
	p.expect(watch(func() error {
		return p.client.Patch(t.Context(), demo, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"region":"local"}}`)))
	}, "status", "parcelservice/demo", "--watch"), 0, "ParcelService PLACE/demo: Ready, Ready: ", "Deployment PLACE/api: ready\n", "ConfigMap PLACE/last: ready\n")
	p.ends([]string{"status", "parcelservice/demo"}, 0, "State:      Ready, Ready (for ", "Revision:   2\n")
	p.expect(watch(func() error { return p.client.Delete(t.Context(), demo) }, "tree", "parcelservice/demo", "--watch"), exitNotReady, "ParcelService PLACE/demo no longer exists\n")
	testenv.Eventually(t, func() (bool, string) {
		return apierrors.IsNotFound(p.client.Get(t.Context(), client.ObjectKeyFromObject(demo), demo)), "the component still exists"
	})
}
