// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler/internal/prepare"
	"github.com/component-operator/runtime/pkg/types"
)

const (
	helmReleaseName      = "meta.helm.sh/release-name"
	helmReleaseNamespace = "meta.helm.sh/release-namespace"

	// maxRivalText limits the length of what an object says about its owner, in bytes.
	maxRivalText = 200
)

// Rival is who else claims an object, apart from owners of the same reconciler.
type Rival struct {
	// text completes "already exists and …", for example "is controlled by ReplicaSet web"; empty if nobody claims the
	// object.
	text string
	// operator is the name of another operator of this kind whose owner label or annotation the object has; empty if
	// there is none.
	operator string
	// owner is the ID of the owner that has the object there; empty if it is not known.
	owner string
}

// RivalOf returns who claims an object according to its metadata: another operator of this kind, whose keys have
// another prefix; a controller; or a Helm release.
func RivalOf(object metav1.Object, own prepare.Keys) Rival {
	if operator, owner := operatorOf(object, own); operator != "" {
		text := fmt.Sprintf("belongs to operator %s", operator)
		if owner != "" {
			text = fmt.Sprintf("belongs to %s of operator %s", shortened(owner), operator)
		}
		return Rival{text: texts.Truncate(text, maxRivalText), operator: operator, owner: owner}
	}
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		kind := schema.FromAPIVersionAndKind(controller.APIVersion, controller.Kind).GroupKind()
		return Rival{text: texts.Truncate("is controlled by "+types.ObjectText(kind, "", controller.Name), maxRivalText)}
	}
	annotations := object.GetAnnotations()
	if release := annotations[helmReleaseName]; release != "" {
		if namespace := annotations[helmReleaseNamespace]; namespace != "" {
			release = namespace + "/" + release
		}
		return Rival{text: texts.Truncate("belongs to Helm release "+release, maxRivalText)}
	}
	return Rival{}
}

// shortened returns an ID without its prefix, the UID of a cluster: the rest is a namespace and a name.
func shortened(owner string) string {
	if parts := strings.SplitN(owner, "/", 2); len(parts) == 2 && strings.Contains(parts[1], "/") {
		return strings.TrimPrefix(parts[1], "/")
	}
	return owner
}

// operatorOf returns the name of another operator whose mark the object has, and the owner's ID if it is known.
func operatorOf(object metav1.Object, own prepare.Keys) (operator, owner string) {
	const label, annotation = "/" + types.LabelKeySuffixOwnerId, "/" + types.AnnotationKeySuffixOwnerId
	for _, key := range slices.Sorted(maps.Keys(object.GetLabels())) {
		if name, ok := strings.CutSuffix(key, label); ok && key != own.OwnerLabel {
			operator = cmp.Or(operator, name)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object.GetAnnotations())) {
		if name, ok := strings.CutSuffix(key, annotation); ok && key != own.OwnerAnnotation && (operator == "" || operator == name) {
			return name, object.GetAnnotations()[key]
		}
	}
	return operator, ""
}
