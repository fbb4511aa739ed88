// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/internal/fieldset"
	"github.com/component-operator/runtime/internal/observe"
	"github.com/component-operator/runtime/pkg/status"
)

// createOnly is a resource version that no object has. An apply that carries it creates the object or fails
// with a conflict; so it never touches an object that nobody has looked at.
const createOnly = "1"

// write applies the manifest of a target to the object that was seen, or creates it.
func (p *pass) write(ctx context.Context, t *target, s situation, d decision) (outcome, error) {
	before := p.suspects(ctx, t, s, d)
	collector := &clients.Collector{}
	object, err := p.send(clients.WithWarnings(ctx, collector), t, s, d.action)
	if err != nil {
		return outcome{}, err
	}
	p.works[t.index].written = true
	p.attribute(t, before, object)
	if err := p.noteAnswer(t, object, collector); err != nil {
		return outcome{}, err
	}
	changed := d.action != actionVerify || object.GetResourceVersion() != s.seen.ResourceVersion
	cleaned, err := p.removeSurplus(ctx, t, object, changed && d.verb != VerbCorrected)
	if err != nil {
		return outcome{}, err
	}
	if cleaned != nil {
		object, changed = cleaned, true
	}
	o, err := p.wrote(t, object, d, changed)
	if err == nil && !o.ready && isClaim(t.key) && o.item.Status == status.InProgressStatus {
		// The default class has been filled in with the creation.
		o.ready, err = p.awaitsConsumer(ctx, t, o.item, object.GetUID())
	}
	return o, err
}

// noteAnswer notes what the server has warned about, and what it has changed.
func (p *pass) noteAnswer(t *target, object *unstructured.Unstructured, collector *clients.Collector) error {
	manifest, err := p.object(t)
	if err != nil {
		return err
	}
	for _, message := range slices.Concat(collector.Warnings(), alterations(manifest.Object, object.Object)) {
		p.note(&p.result.Notes, p.item(t), message)
	}
	return nil
}

// wrote records the response of a write.
func (p *pass) wrote(t *target, object *unstructured.Unstructured, d decision, changed bool) (outcome, error) {
	item := p.item(t)
	seen, view := p.cache.Get(t.gvk(), t.key.namespace, t.key.name)
	// The event of a write often arrives before its response.
	if view != observe.Present || seen.UID != object.GetUID() || seen.ResourceVersion != object.GetResourceVersion() {
		seen = p.reader.Read(object)
		p.cache.Record(t.gvk(), t.key.namespace, t.key.name, seen)
	}
	if err := p.refuseAlias(t, seen.UID); err != nil {
		return outcome{}, err
	}
	now := p.options.Clock.Now()
	if recalled := p.memory.peek(p.owner.ID, t.key); recalled != nil {
		recalled.retries = repetition{}
	}
	if d.action == actionVerify {
		p.memory.of(p.owner.ID, t.key).verifications.happened(now)
	}
	if changed {
		if d.verb == VerbCorrected || d.verb == VerbAdopted && item.UID != "" {
			p.memory.of(p.owner.ID, t.key).corrections.happened(now)
		}
		p.acted(d.verb, t.applyOrder, item)
		item.Phase = PhaseUpdating
		if d.action == actionCreate {
			item.Phase = PhaseCreating
		}
	}
	item.LastAppliedAt = &metav1.Time{Time: now}
	item.UID, item.Fingerprint, item.Baseline = seen.UID, seen.Fingerprint, seen.Baseline()
	item.DeletePolicy = p.owner.deletePolicy(item, t.delete)
	s := situation{owner: p.label, exists: true, seen: seen}
	o := p.settled(item, s)
	return o, nil
}

// send makes the apply request. A missing namespace is created if that is the policy.
func (p *pass) send(ctx context.Context, t *target, s situation, action action) (*unstructured.Unstructured, error) {
	object, err := p.marked(t)
	if err != nil {
		return nil, err
	}
	operation := "update"
	if action == actionCreate {
		object.SetResourceVersion(createOnly)
		operation = "create"
	} else {
		object.SetUID(s.seen.UID)
		object.SetResourceVersion(s.seen.ResourceVersion)
	}
	for created := false; ; {
		// The response replaces the content of the object; an error leaves it as it is.
		err := p.mutate(operation, func() error {
			return p.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership, client.FieldOwner(p.options.FieldOwner))
		})
		switch {
		case err == nil:
			return object, nil
		case p.createNamespaces && isNotFound(err) && kindOf(err) == "namespaces":
			if created {
				return nil, fmt.Errorf("namespace %s does not stay", t.key.namespace)
			}
			if err := p.createNamespace(ctx, t.key.namespace); err != nil {
				return nil, err
			}
			created = true
		default:
			unknown := undeclared(err)
			if len(unknown) == 0 {
				return nil, err
			}
			if object = object.DeepCopy(); !prune(object, unknown) {
				return nil, err
			}
			p.note(&p.result.Notes, p.item(t), "unknown fields were left out: "+strings.Join(unknown, ", "))
		}
	}
}

// marked returns the manifest with the marks of the owner. Only its metadata may be changed; everything else is that of the manifest.
func (p *pass) marked(t *target) (*unstructured.Unstructured, error) {
	manifest, err := p.object(t)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: maps.Clone(manifest.Object)}
	if metadata, ok := object.Object["metadata"].(map[string]any); ok {
		object.Object["metadata"] = maps.Clone(metadata)
	}
	p.setMarks(object, t)
	if definesTypes(t.key.GroupKind) {
		controllerutil.AddFinalizer(object, p.options.Finalizer)
	}
	return object, nil
}

// createNamespace creates a namespace once per pass. It gets no marks: it is not a dependent.
func (p *pass) createNamespace(ctx context.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err, tried := p.namespaces[name]; tried {
		return err
	}
	err := p.mutate("create", func() error {
		return p.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, client.FieldOwner(p.options.FieldOwner))
	})
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("creating namespace %s: %w", name, err)
	}
	p.namespaces[name] = err
	return err
}

// isAlone tells whether nobody but us, who have just applied the object, has written it, or nobody knows.
func isAlone(managedFields any) bool {
	entries, _ := managedFields.([]any)
	return len(entries) < 2
}

// removeSurplus removes what other field managers added beside the declared fields, as far as the update policy says so.
// It returns nil if there was nothing to remove.
func (p *pass) removeSurplus(ctx context.Context, t *target, object *unstructured.Unstructured, metadata bool) (*unstructured.Unstructured, error) {
	cleaned, surplus, err := p.withoutSurplus(t, object, metadata)
	if err != nil || cleaned == nil {
		return nil, err
	}
	err = p.mutate("update", func() error { return p.client.Update(ctx, cleaned, client.FieldOwner(p.options.FieldOwner)) })
	if apierrors.IsInvalid(err) && !isOutdated(err) {
		p.note(&p.result.Notes, p.item(t), fmt.Sprintf("fields set by others cannot be removed: %s", fieldTexts(surplus)))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if cleaned.GetResourceVersion() == object.GetResourceVersion() {
		return nil, nil
	}
	return cleaned, nil
}

// withoutSurplus returns the object as it is to be without the surplus, and the paths of that; nil if there is none.
func (p *pass) withoutSurplus(t *target, object *unstructured.Unstructured, metadata bool) (*unstructured.Unstructured, []fieldpath.Path, error) {
	if entries, _, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "managedFields"); isAlone(entries) {
		return nil, nil, nil
	}
	reclaim := func(manager string) bool { return p.reclaims(t.update, manager) }
	surplus, err := fieldset.Surplus(t.key.GroupKind, object.GetManagedFields(), p.options.FieldOwner, reclaim)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the fields of %s: %w", t.key, err)
	}
	if !metadata {
		// Labels and annotations that others add are nobody's drift; they go when the manifest changes.
		surplus = fieldset.Outside(surplus, "metadata")
	}
	manifest, err := p.object(t)
	if err != nil {
		return nil, nil, err
	}
	if isContainer(t.key) && !declaresData(manifest) {
		// Whoever ships a Secret without content expects somebody to fill it.
		surplus = fieldset.Outside(surplus, "data", "binaryData")
	}
	if len(surplus) == 0 {
		return nil, nil, nil
	}
	owned, err := fieldset.Owned(object.GetManagedFields(), p.options.FieldOwner)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the fields of %s: %w", t.key, err)
	}
	cleaned := object.DeepCopy()
	fieldset.Remove(cleaned.Object, surplus, owned)
	return cleaned, surplus, nil
}

// recreate deletes the object that was seen and, if it is gone at once, creates it.
func (p *pass) recreate(ctx context.Context, t *target, s situation, d decision) (outcome, bool, error) {
	item := p.item(t)
	if !definesTypes(t.key.GroupKind) {
		if again, err := p.mayRecreate(ctx, t, s); again || err != nil {
			return outcome{}, again, err
		}
	}
	gone, held, err := p.requestEnd(ctx, item, s)
	switch {
	case err != nil:
		return outcome{}, false, err
	case held != nil && held.instances != "":
		return outcome{}, false, refused(fmt.Sprintf("%s: %s", t.key, heldByInstances(held.instances)))
	case held != nil:
		held.unwritten = true
		return *held, false, nil
	}
	s = situation{owner: p.label, proven: true, typed: true}
	if !gone {
		if s, err = p.ask(ctx, item); err != nil {
			return outcome{}, false, err
		}
	}
	if s.exists && !s.seen.Deleting {
		return outcome{}, true, nil // others were faster; what to do about theirs is another decision
	}
	if s.exists {
		item.Status = status.TerminatingStatus
		return outcome{item: item, message: "being deleted, in order to be created anew: " + s.seen.Message, securing: true, unwritten: true}, false, nil
	}
	create := p.create
	if gone {
		create = p.write // it was not others who removed it
	}
	o, err := create(ctx, t, s, decision{action: actionCreate, verb: d.verb})
	return o, false, err
}
