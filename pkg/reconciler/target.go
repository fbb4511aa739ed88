// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/digest"
)

// target is one object that is to be, with all that can be known about it before looking at the cluster.
type target struct {
	behavior

	key          objectKey
	object       *unstructured.Unstructured // normalised, without the marks of the owner
	digest       string
	managedTypes []TypeVersionInfo
	instance     bool // of a managed type
}

const (
	// digestOnce is the digest of objects that are applied once.
	digestOnce = "__once__"
	// digestRules precedes all other digests, and tells by which rules they were computed.
	digestRules = "2:"
)

// newTargets reads the annotations of all objects and completes what follows from them.
func (r *Reconciler) newTargets(objects []*unstructured.Unstructured, request ApplyRequest, policies Policies) ([]*target, error) {
	targets := make([]*target, 0, len(objects))
	types := newTypeSet(r.additionalTypes(request.Owner))
	var problems []string
	for _, object := range objects {
		parsed, bad := parseBehavior(r.keys.prefix, object, policies)
		problems = append(problems, bad...)
		sum, err := objectDigest(object, parsed.reconcile, request.Digest)
		if err != nil {
			return nil, err
		}
		t := &target{behavior: parsed, key: keyOf(object), object: object, digest: sum, managedTypes: managedTypesOf(object)}
		if len(t.managedTypes) > 0 {
			types.items[t.key] = t.managedTypes
		}
		targets = append(targets, t)
	}
	if len(problems) > 0 {
		return nil, refused(problems...)
	}
	for _, t := range targets {
		t.instance = types.instance(t.gvk())
	}
	return targets, nil
}

func (r *Reconciler) additionalTypes(owner Owner) []TypeInfo {
	return append(append([]TypeInfo{}, r.options.AdditionalManagedTypes...), owner.AdditionalManagedTypes...)
}

func (t *target) gvk() schema.GroupVersionKind {
	return t.object.GroupVersionKind()
}

func objectDigest(object *unstructured.Unstructured, policy ReconcilePolicy, componentDigest string) (string, error) {
	switch policy {
	case ReconcilePolicyOnce:
		return digestOnce, nil
	case ReconcilePolicyOnObjectChange, ReconcilePolicyOnObjectOrComponentChange:
	}
	sum, err := digest.Of(object.Object)
	if err != nil {
		return "", fmt.Errorf("computing the digest of %s: %w", objectText(object), err)
	}
	if policy == ReconcilePolicyOnObjectOrComponentChange {
		sum += "@" + componentDigest
	}
	return digestRules + sum, nil
}

// stage ranks targets within a wave; each stage begins when the one before is ready.
type stage int

const (
	stageRegular   stage = iota
	stageLate            // APIServices, whose backends are among the regular objects
	stageInstances       // instances of types that the stages before brought
)

func (t *target) stage() stage {
	switch {
	case t.instance:
		return stageInstances
	case isAPIService(t.key.GroupKind):
		return stageLate
	default:
		return stageRegular
	}
}

// isContainer tells whether objects of the kind hold nothing but data.
func isContainer(key objectKey) bool {
	return key.Group == "" && (key.Kind == "Secret" || key.Kind == "ConfigMap")
}

// declaresData tells whether the manifest of a Secret or ConfigMap has content.
func (t *target) declaresData() bool {
	for _, field := range []string{"data", "binaryData"} {
		if content, _, _ := unstructured.NestedMap(t.object.Object, field); len(content) > 0 {
			return true
		}
	}
	return false
}

// removesItself tells whether the object is a Job that removes itself some time after it has finished.
func (t *target) removesItself() bool {
	if t.key.Group != "batch" || t.key.Kind != "Job" {
		return false
	}
	ttl, found, _ := unstructured.NestedFieldNoCopy(t.object.Object, "spec", "ttlSecondsAfterFinished")
	return found && ttl != nil
}
