// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/behaviors"
)

// SuspensionObjectTransformer gives the Deployments, StatefulSets and CronJobs of a chart, a kustomization or other
// manifests a suspended form, for components with the presence Suspended: Deployments and StatefulSets have no replicas,
// and CronJobs have suspend: true. The component is suspended when all replicas are gone. Jobs of a CronJob that already
// run are left alone, like all objects of other types. Objects that already have the behavior Suspending keep theirs.
//
// Like the other transformers, it is [Pure].
type SuspensionObjectTransformer struct{}

var (
	_ ContextObjectTransformer = &SuspensionObjectTransformer{}
	_ Pure                     = &SuspensionObjectTransformer{}
)

// NewSuspensionObjectTransformer returns a SuspensionObjectTransformer.
func NewSuspensionObjectTransformer() *SuspensionObjectTransformer {
	return &SuspensionObjectTransformer{}
}

// suspendedForms are the forms of types in all their versions.
var suspendedForms = map[schema.GroupKind]behaviors.Suspend{
	{Group: "apps", Kind: "Deployment"}:  withoutReplicas,
	{Group: "apps", Kind: "StatefulSet"}: withoutReplicas,
	{Group: "batch", Kind: "CronJob"}: func(manifest *unstructured.Unstructured) error {
		return unstructured.SetNestedField(manifest.Object, true, "spec", "suspend")
	},
}

func withoutReplicas(manifest *unstructured.Unstructured) error {
	return unstructured.SetNestedField(manifest.Object, int64(0), "spec", "replicas")
}

// TransformObjects attaches the behavior to objects.
func (t *SuspensionObjectTransformer) TransformObjects(namespace string, name string, objects []client.Object) ([]client.Object, error) {
	return t.TransformObjectsContext(context.Background(), namespace, name, objects)
}

// TransformObjectsContext attaches the behavior to objects. It looks up types that objects do not name in the scheme of
// the client in the context.
func (t *SuspensionObjectTransformer) TransformObjectsContext(ctx context.Context, _ string, _ string, objects []client.Object) ([]client.Object, error) {
	if err := checkObjects(objects); err != nil {
		return nil, err
	}
	for i, object := range objects {
		kind, err := kindOf(ctx, object)
		if err != nil {
			return nil, err
		}
		form := suspendedForms[kind.GroupKind()]
		if _, own := behaviors.Of[behaviors.Suspending](object); form != nil && !own {
			objects[i] = behaviors.Attach(object, form)
		}
	}
	return objects, nil
}

// Fingerprint is the same for all instances.
func (t *SuspensionObjectTransformer) Fingerprint() string { return "suspension/1" }
