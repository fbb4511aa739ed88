// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/internal/concurrent"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/helm"
	"github.com/component-operator/runtime/pkg/types"
)

var _ types.InheritFunc = InheritRelease

// readsAtOnce limits how many objects are read at the same time.
const readsAtOnce = 8

// longestName is the maximum length of the name of a release.
const longestName = 53

// helmOperators are the finalizers of operator-sdk's helm operator.
var helmOperators = []string{"helm.sdk.operatorframework.io/uninstall-release", "uninstall-helm-release"}

// InheritRelease is a [types.InheritFunc] for operators whose components were managed by operator-sdk's helm operator, and
// whose generator renders the same chart. It finds the release with the given namespace and name, if it is that of the
// component: if objects of the release have the component as controller, or name it as the resource that they belong to,
// or were adopted by it. The component then continues with the deployed revision: its number, and hooks that have run.
// Objects with the marks of the release are adopted, unless they have another controller. When all dependents are ready,
// Helm's record of the release is deleted, so that Helm does not know it any more.
//
// The operator must be allowed to get, list and delete Secrets and ConfigMaps in the namespace. As long as an operation
// of Helm is running, the error is a [types.RetriableError].
func InheritRelease(ctx context.Context, clnt client.Client, owner client.Object, namespace, name string) (*types.Inherited, error) {
	if namespace == "" || len(name) > longestName {
		return nil, nil
	}
	isReserved := slices.ContainsFunc(owner.GetFinalizers(), func(finalizer string) bool { return slices.Contains(helmOperators, finalizer) })
	release, err := helm.ReadRelease(ctx, clnt, namespace, name)
	refused, isRefused := errors.AsType[*helm.RefusedReleaseError](err)
	switch {
	case isRefused && (refused.Missing || !isReserved):
		return nil, nil
	case isRefused:
		return nil, types.NewRetriableError(err, nil)
	case err != nil:
		return nil, err
	}
	found := &types.Inherited{
		Text: fmt.Sprintf("revision %d of Helm release %s", release.Number, release), Revision: release.Number,
		Retire: func(ctx context.Context) error { return release.Retire(ctx, clnt) },
	}
	objects, err := readObjects(ctx, clnt, release)
	if err != nil {
		return nil, fmt.Errorf("reading the objects of %s: %w", found.Text, err)
	}
	if !divide(found, release, objects, owner) {
		return nil, nil
	}
	return found, nil
}

// divide notes which objects of a release can be adopted, and which have completed. It reports whether the release is that
// of the owner.
func divide(found *types.Inherited, release *helm.InstalledRelease, objects []*metav1.PartialObjectMetadata, owner client.Object) (isClaimed bool) {
	for i, object := range release.Objects {
		switch each := objects[i]; {
		case each == nil:
		case gitops.HasHelmHook(object.GetAnnotations()):
			found.Completed = append(found.Completed, each)
		default:
			isClaimed = isClaimed || belongs(each, owner)
			if release.Owns(each, owner.GetUID()) {
				found.Objects = append(found.Objects, each)
			}
		}
	}
	found.Completed = slices.DeleteFunc(found.Completed, func(hook types.ObjectKey) bool {
		return slices.ContainsFunc(found.Objects, func(object types.ObjectKey) bool { return types.IDOf(object) == types.IDOf(hook) })
	})
	return isClaimed
}

// readObjects returns the objects of a release, in their order: hooks with their names only, and nil for objects that do
// not exist.
func readObjects(ctx context.Context, clnt client.Client, release *helm.InstalledRelease) ([]*metav1.PartialObjectMetadata, error) {
	objects := make([]*metav1.PartialObjectMetadata, len(release.Objects))
	err := concurrent.Each(readsAtOnce, release.Objects, func(i int, object helm.Object) error {
		located, err := locate(clnt, object, release.Namespace)
		objects[i] = located
		if err != nil || located == nil || gitops.HasHelmHook(object.GetAnnotations()) {
			return err
		}
		err = clnt.Get(ctx, client.ObjectKeyFromObject(located), located)
		switch {
		case apierrors.IsNotFound(err):
			objects[i] = nil
			return nil
		case apierrors.IsForbidden(err):
			return types.NewRetriableError(err, nil)
		default:
			return err
		}
	})
	return objects, err
}

// The annotations by which helm operators mark objects that cannot have an owner reference.
const primaryResource, primaryResourceType = "operator-sdk/primary-resource", "operator-sdk/primary-resource-type"

// belongs reports whether an object of a release belongs to the owner: by its controller, by the marks of a helm operator,
// or because the owner has adopted it.
func belongs(object *metav1.PartialObjectMetadata, owner client.Object) bool {
	kind, name := owner.GetObjectKind().GroupVersionKind(), owner.GetNamespace()+"/"+owner.GetName()
	controller, annotations := metav1.GetControllerOfNoCopy(object), object.GetAnnotations()
	if controller != nil && controller.UID == owner.GetUID() || annotations[primaryResource] == name && annotations[primaryResourceType] == kind.GroupKind().String() {
		return true
	}
	for key, value := range annotations {
		if strings.HasSuffix(key, "/"+types.AnnotationKeySuffixOwnerId) && strings.HasSuffix(value, "/"+name) {
			return true
		}
	}
	return false
}

// locate returns the identity of an object of a release; nil if its type is not served.
func locate(clnt client.Client, object helm.Object, namespace string) (*metav1.PartialObjectMetadata, error) {
	mapping, err := clnt.RESTMapper().RESTMapping(object.GroupVersionKind().GroupKind())
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(mapping.GroupVersionKind)
	found.SetName(object.GetName())
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		found.SetNamespace(cmp.Or(object.GetNamespace(), namespace))
	}
	return found, nil
}
