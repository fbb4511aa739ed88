// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/parallel"
)

// target is one object that is to be, with all that can be known about it before looking at the cluster. It does not change.
type target struct {
	behavior

	index         int // in the objects of the request
	key           objectKey
	version       string
	digest        string
	former        string // another digest of the same manifest that may be recorded; empty if there is none
	managedTypes  []TypeVersionInfo
	instance      bool // of a managed type
	removesItself bool // if it is gone after it was ready, it is complete
}

const (
	// digestOnce is the digest of objects that are applied once.
	digestOnce = "__once__"
	// digestRules precedes all other digests, and tells by which rules they were computed.
	digestRules = "2:"
)

// newTargets reads the annotations of all objects and completes what follows from them.
func (r *Reconciler) newTargets(objects []*unstructured.Unstructured, request ApplyRequest, policies Policies) ([]*target, error) {
	targets := make([]*target, len(objects))
	problems, failures := make([][]string, len(objects)), make([]error, len(objects))
	parallel.Do(len(objects), func(i int) {
		t := newTarget(i, objects[i])
		t.removesItself = removesItself(objects[i]) || request.RunOnce && runs(t.key.GroupKind)
		targets[i] = t
		if t.behavior, problems[i] = parseBehavior(r.keys.prefix, objects[i], policies); len(problems[i]) == 0 {
			t.digest, t.former, failures[i] = digestsOf(objects[i], t.reconcile, request)
		}
	})
	if err := cmp.Or(failures...); err != nil {
		return nil, err
	}
	if all := slices.Concat(problems...); len(all) > 0 {
		return nil, refused(all...)
	}
	types := newTypeSet(r.additionalTypes(request.Owner))
	for _, t := range targets {
		if len(t.managedTypes) > 0 {
			types.items[t.key] = t.managedTypes
		}
	}
	for _, t := range targets {
		t.instance = types.instance(t.gvk())
	}
	return targets, nil
}

func newTarget(index int, object *unstructured.Unstructured) *target {
	return &target{
		index:        index,
		key:          keyOf(object),
		version:      object.GroupVersionKind().Version,
		managedTypes: managedTypesOf(object),
	}
}

func (r *Reconciler) additionalTypes(owner Owner) []TypeInfo {
	return append(append([]TypeInfo{}, r.options.AdditionalManagedTypes...), owner.AdditionalManagedTypes...)
}

func (t *target) gvk() schema.GroupVersionKind {
	return t.key.WithVersion(t.version)
}

// digestsOf returns the digest of a manifest, and the one that was recorded before digests had keys, if it is another one.
func digestsOf(object *unstructured.Unstructured, policy ReconcilePolicy, request ApplyRequest) (now, former string, err error) {
	former, err = objectDigest(object, policy, cmp.Or(request.FormerDigest, request.Digest))
	if err != nil || policy == ReconcilePolicyOnce {
		return former, "", err
	}
	sum, _, _ := strings.Cut(strings.TrimPrefix(former, digestRules), "@")
	if len(request.DigestKey) > 0 && isSecret(object) {
		sum = digest.Keyed(request.DigestKey, sum)[:len(sum)]
	}
	now = digestRules + sum
	if policy == ReconcilePolicyOnObjectOrComponentChange {
		now += "@" + request.Digest
	}
	if now == former {
		former = ""
	}
	return now, former, nil
}

func isSecret(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
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
	// Half of it is more than enough to notice a change, and each dependent's is written with each status.
	sum = sum[:len(sum)/2]
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
func declaresData(object *unstructured.Unstructured) bool {
	for _, field := range []string{"data", "binaryData"} {
		if content, _, _ := unstructured.NestedMap(object.Object, field); len(content) > 0 {
			return true
		}
	}
	return false
}

// runs reports whether objects of a type come to an end by themselves.
func runs(kind schema.GroupKind) bool {
	return isJob(kind) || kind == schema.GroupKind{Kind: "Pod"}
}

func isJob(kind schema.GroupKind) bool { return kind == schema.GroupKind{Group: "batch", Kind: "Job"} }

// removesItself reports whether the object is a Job that removes itself some time after it has finished.
func removesItself(object *unstructured.Unstructured) bool {
	if !isJob(object.GroupVersionKind().GroupKind()) {
		return false
	}
	ttl, found, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "ttlSecondsAfterFinished")
	return found && ttl != nil
}
