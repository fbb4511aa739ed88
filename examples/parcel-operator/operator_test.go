// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package parceloperator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/examples/parcel-operator/api/v1alpha1"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/manifests"
	"github.com/component-operator/runtime/pkg/types"
)

// TestChart renders the chart for the least and for the most that a component can say.
func TestChart(t *testing.T) {
	t.Parallel()
	routes := []v1alpha1.RouteSpec{{Name: "express", Stops: []string{"harbor", "airport"}}}
	always := []string{
		"-20/10 CustomResourceDefinition deliveryroutes.parcel.example.io",
		"-20/5 ClusterRole parcels-main-controller",
		"-20/5 ClusterRoleBinding parcels-main-controller",
		"-20/5 ConfigMap main-settings",
		"-20/5 ConfigMap main-tariffs",
		"-20/5 Role main-controller",
		"-20/5 RoleBinding main-controller",
		"-20/5 Secret main-credentials",
		"-20/5 ServiceAccount main-api",
		"-20/5 ServiceAccount main-controller",
		"-10/5 NetworkPolicy main-database",
		"-10/5 Service main-database",
		"-10/5 StatefulSet main-database",
		"0/ Job main-migration",
		"10/ Deployment main-api",
		"10/ Deployment main-controller",
		"10/ PodDisruptionBudget main-api",
		"10/ Service main-api",
		"10/ Service main-controller",
		"20/ CronJob main-report",
	}
	cases := map[string]struct {
		reason string
		spec   v1alpha1.ParcelServiceSpec
		want   []string
		err    string
	}{
		"Least": {
			reason: "only the region has no default",
			spec:   v1alpha1.ParcelServiceSpec{Region: "north"},
			want:   always,
		},
		"Most": {
			reason: "a host makes an Ingress, a route an instance of the chart's own type",
			spec:   v1alpha1.ParcelServiceSpec{Region: "north", Host: "parcels.example.com", Routes: routes},
			want:   append(slices.Clone(always), "20/-10 DeliveryRoute main-express", "20/-10 Ingress main-api"),
		},
		"TooLittle": {
			reason: "the schema of the values refuses an empty region",
			err:    "region",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			generator, err := newGenerator()
			if err != nil {
				t.Fatal(err)
			}
			objects, err := generator.Generate(generationContext(t.Context()), "parcels", "main", &tc.spec)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s: got error %v, want one about %q", tc.reason, err, tc.err)
			}
			if diff := gocmp.Diff(tc.want, describe(objects)); diff != "" {
				t.Errorf("%s: apply order/delete order, kind and name (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// generationContext returns what the reconciler hands to a generator, with a cluster that has nothing but a version.
func generationContext(ctx context.Context) context.Context {
	server := &fakediscovery.FakeDiscovery{
		Fake:               &clienttesting.Fake{},
		FakedServerVersion: &version.Info{GitVersion: "v1.36.3", Major: "1", Minor: "36"},
	}
	ctx = manifests.WithClient(ctx, cluster.NewClient(nil, server, nil, nil, nil))
	ctx = manifests.WithReconcilerName(ctx, Name)
	ctx = manifests.WithComponentRevision(ctx, 1)
	return manifests.WithInstalled(ctx, false)
}

// describe returns a line per object, ordered by wave.
func describe(objects []client.Object) []string {
	var lines []string
	for _, object := range objects {
		annotations := object.GetAnnotations()
		lines = append(lines, fmt.Sprintf("%s/%s %s %s",
			annotations[Name+"/"+types.AnnotationKeySuffixApplyOrder], annotations[Name+"/"+types.AnnotationKeySuffixDeleteOrder],
			object.GetObjectKind().GroupVersionKind().Kind, object.GetName()))
	}
	wave := func(line string) (order int) {
		_, _ = fmt.Sscanf(line, "%d", &order)
		return order
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Or(cmp.Compare(wave(a), wave(b)), cmp.Compare(a, b)) })
	return lines
}
