// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/component-operator/runtime/internal/fieldset"
)

// fightThreshold is the number of corrections of one object in short succession after which it is found out, at the price
// of a request, who changes it. It is below the number from which on corrections are put off.
const fightThreshold = 2

// suspects returns who owned the fields of an object that is about to be corrected, if it was corrected often. It returns
// nothing if that cannot be found out.
func (p *pass) suspects(ctx context.Context, t *target, s situation, d decision) []metav1.ManagedFieldsEntry {
	recalled := p.memory.peek(p.owner.ID, t.key)
	if recalled == nil {
		return nil
	}
	if recalled.corrections.count == 0 {
		recalled.fight = ""
	}
	if d.verb != VerbCorrected || d.action != actionApply || recalled.corrections.count < fightThreshold {
		return nil
	}
	object, err := p.get(ctx, p.item(t))
	if err != nil || object.GetResourceVersion() != s.seen.ResourceVersion {
		return nil
	}
	return object.GetManagedFields()
}

// attribute remembers who had changed an object that was corrected often.
func (p *pass) attribute(t *target, before []metav1.ManagedFieldsEntry, object *unstructured.Unstructured) {
	if before == nil {
		return
	}
	fields, managers, err := fieldset.Contested(before, object.GetManagedFields(), p.options.FieldOwner)
	if err != nil || len(managers) == 0 {
		return
	}
	p.memory.of(p.owner.ID, t.key).fight = fmt.Sprintf("is changed again and again by %s: %s", strings.Join(managers, ", "), fieldTexts(fields))
}

// fieldTexts lists fields, bounded in length.
func fieldTexts(paths []fieldpath.Path) string {
	texts := make([]string, 0, len(paths))
	for i, path := range paths {
		if i == 5 && len(paths) > 6 {
			texts = append(texts, fmt.Sprintf("and %d more", len(paths)-i))
			break
		}
		texts = append(texts, path.String())
	}
	return strings.Join(texts, ", ")
}

// compare finds out, without writing, whether a dependent whose drift is only reported differs from its manifest.
func (p *pass) compare(ctx context.Context, t *target, s situation) (outcome, error) {
	item := p.item(t)
	live, err := p.get(ctx, item)
	if err != nil {
		return outcome{}, err
	}
	applied, err := p.marked(t)
	if err != nil {
		return outcome{}, err
	}
	err = p.read(func() error {
		return p.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.ForceOwnership, client.FieldOwner(p.options.FieldOwner), client.DryRunAll)
	})
	if err != nil {
		return outcome{}, fmt.Errorf("comparing %s: %w", t.key, err)
	}
	p.memory.of(p.owner.ID, t.key).verifications.happened(p.options.Clock.Now())
	if !sameContent(live, applied) {
		return p.reported(t, s, decision{message: changedByOthers}), nil
	}
	item.Baseline = p.reader.Read(live).Baseline()
	return p.kept(ctx, t, s)
}

// sameContent compares two states of one object, apart from what the server keeps for itself.
func sameContent(a, b *unstructured.Unstructured) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	for _, object := range []*unstructured.Unstructured{a, b} {
		object.SetManagedFields(nil)
		object.SetResourceVersion("")
		object.SetGeneration(0)
	}
	return reflect.DeepEqual(a.Object, b.Object)
}
