// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// prepared is what was computed from the objects of a call. The next call for the same owner uses it again if it has the same
// objects, which are mostly not kept themselves: at rest nobody needs them.
type prepared struct {
	version    string
	namespace  string
	digest     string
	former     string
	key        string
	policies   Policies
	additional []TypeInfo
	targets    []*target
	// objects are those of a plan, for the call that follows; nil if they are not kept.
	objects []*unstructured.Unstructured
}

// fits tells whether the result would be the same for the request.
func (k *prepared) fits(request ApplyRequest, policies Policies, additional []TypeInfo) bool {
	return k != nil && request.Version != "" && k.version == request.Version && k.namespace == request.Namespace && k.digest == request.Digest &&
		k.former == request.FormerDigest && k.key == string(request.DigestKey) &&
		k.policies == policies && slices.Equal(k.additional, additional) && len(k.targets) == len(request.Objects)
}

// prepare returns the targets of a request, and their objects unless these have been looked at before.
func (r *Reconciler) prepare(request ApplyRequest, policies Policies) (*prepared, []*unstructured.Unstructured, error) {
	additional := r.additionalTypes(request.Owner)
	if known := r.memory.recall(request.ID); known.fits(request, policies, additional) {
		spent := *known
		spent.objects = nil
		return &spent, known.objects, nil
	}
	objects, err := r.prepareObjects(request.Objects, request.Namespace)
	if err != nil {
		return nil, nil, err
	}
	targets, err := r.newTargets(objects, request, policies)
	if err != nil {
		return nil, nil, err
	}
	return &prepared{
		version: request.Version, namespace: request.Namespace, digest: request.Digest, former: request.FormerDigest, key: string(request.DigestKey),
		policies: policies, additional: additional, targets: targets,
	}, objects, nil
}

// object returns the normalised manifest of a target, without the marks of the owner.
func (p *pass) object(t *target) (*unstructured.Unstructured, error) {
	w := &p.works[t.index]
	if w.object != nil {
		return w.object, nil
	}
	object, err := toUnstructured(p.sources[t.index], p.client.Scheme())
	if err != nil {
		return nil, err
	}
	problem := p.normalise(object)
	elsewhere := object.GetNamespace() != "" && t.key.namespace != "" && object.GetNamespace() != t.key.namespace
	if problem == "" && (object.GroupVersionKind() != t.gvk() || object.GetName() != t.key.name || elsewhere) {
		problem = fmt.Sprintf("%s: was %s before, although the version of the objects is the same", objectText(object), t.key)
	}
	if problem != "" {
		return nil, refused(problem)
	}
	object.SetNamespace(t.key.namespace)
	w.object = object
	return object, nil
}
