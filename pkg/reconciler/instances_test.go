// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/component-operator/runtime/internal/digest"
	"github.com/component-operator/runtime/internal/testenv"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// TestWhatServesAKeptTypeStays has a foreign instance keep a type whose controller is to be deleted as well.
func TestWhatServesAKeptTypeStays(t *testing.T) {
	t.Parallel()
	const controller = `
---
apiVersion: v1
kind: ReplicationController
metadata: {name: controller}
spec: {replicas: 0, selector: {a: b}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: main, image: main}]}}}
`
	for name, tc := range map[string]struct {
		reason, metadata string
		end              func(ty *typed) (reconciler.Result, error)
	}{
		"Redundant": {"the type is not wanted any more", "{name: foreign}", func(ty *typed) (reconciler.Result, error) { return ty.apply("") }},
		"Deleted":   {"what CheckDeletion cannot see carries our label", "{name: foreign, labels: {PREFIX/owner-id: OWNER}}", (*typed).deleted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ty := newTyped(t)
			ty.settle(ty.expand(customType+controller), func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
			foreign := strings.Replace(widget, "{name: NAME}", strings.ReplaceAll(tc.metadata, "OWNER", digest.OwnerLabel(ty.owner.ID)), 1)
			ty.create(ty.expand(foreign))
			for range 3 {
				result, err := tc.end(ty)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(notices(result.Waits), "kept while there are instances of its types") {
					t.Fatalf("%s: expected the type to be kept, got %q", tc.reason, notices(result.Waits))
				}
			}
			if ty.get("v1", "ReplicationController", "controller") == nil {
				t.Errorf("%s: the type and the instance are there, and the controller is gone", tc.reason)
			}
			ty.remove(ty.widget("foreign"))
			testenv.Eventually(t, func() (bool, string) {
				result, err := tc.end(ty)
				return err == nil && result.Done, fmt.Sprint(notices(result.Waits), err)
			})
		})
	}
}

func (ty *typed) deleted() (reconciler.Result, error) { return ty.delete() }

// TestReleasedTypeIsTakenBack keeps a type with its instances when the owner is deleted, although other dependents go, and has the owner created again.
func TestReleasedTypeIsTakenBack(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	ty.policies.Adoption = reconciler.AdoptionPolicyNever
	manifests := strings.Replace(ty.expand(customType), "metadata: {", "metadata: {annotations: {"+prefix+"/delete-policy: orphan-on-delete}, ", 1) +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: goes}\n"
	ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "foreign")))
	if blockers := ty.check(); len(blockers) > 0 {
		t.Errorf("the type and its instances stay, and yet the deletion is blocked: %v", blockers)
	}
	ty.mustDelete()
	if ty.configMap("goes") != nil || ty.definition() == nil || ty.widget("foreign") == nil {
		t.Error("expected that all but the type and its instance are deleted")
	}
	stranger := newWorld(t)
	stranger.policies.Adoption = reconciler.AdoptionPolicyNever
	_, err := stranger.apply(manifests)
	stranger.expectRefusal(err, "already exists and has no owner, but its adoption policy is never")
	if result := ty.mustApply(manifests); !slices.Contains(actions(result), "Adopted CustomResourceDefinition "+ty.definition().GetName()) {
		t.Errorf("what was released was not taken back: %v", actions(result))
	}
	ty.mustDelete()
}

// TestTypeThatAnotherOwnerHasAdopted has a new operator adopt the definition before the former owner is deleted.
func TestTypeThatAnotherOwnerHasAdopted(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	ty.settle(ty.expand(customType), func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	successor := newWorld(t, func(s *setup) { s.name = "successor.example.io" })
	successor.mustApply(strings.Replace(ty.expand(customType), "metadata: {", "metadata: {annotations: {successor.example.io/adoption-policy: always}, ", 1))
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "foreign")))
	if blockers := ty.check(); len(blockers) > 0 {
		t.Errorf("the deletion waits for instances of a type of another owner: %v", blockers)
	}
	ty.mustDelete()
	crd := ty.definition()
	if crd == nil || crd.GetDeletionTimestamp() != nil || slices.Contains(crd.GetFinalizers(), prefix) || !slices.Contains(crd.GetFinalizers(), "successor.example.io") {
		t.Fatalf("expected the definition of the successor without our finalizer, got %v", crd)
	}
	if ty.widget("foreign") == nil {
		t.Error("the instance is gone")
	}
	ty.remove(ty.widget("foreign"))
	testenv.Eventually(t, func() (bool, string) {
		result, err := successor.delete()
		return err == nil && result.Done, fmt.Sprint(notices(result.Waits), err)
	})
}

// TestOwnInstanceWithoutLabelDoesNotBlock has others remove our label from a dependent right before the deletion.
func TestOwnInstanceWithoutLabelDoesNotBlock(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	ty.settle(ty.expand(customType+"---"+strings.ReplaceAll(widget, "NAME", "own")), func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	ty.patch(ty.widget("own"), `{"metadata":{"labels":{"PREFIX/owner-id":null}}}`)
	if blockers := ty.check(); len(blockers) > 0 {
		t.Errorf("a dependent forbids the deletion: %v", blockers)
	}
	// A user forges a record in which a foreign instance is a dependent, too.
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "zz-foreign")))
	for _, item := range ty.owner.Inventory {
		if item.Kind == "Widget" {
			forged := item.DeepCopy()
			forged.Name, forged.UID = "zz-foreign", ty.widget("zz-foreign").GetUID()
			ty.owner.Inventory = append(ty.owner.Inventory, forged)
		}
	}
	if blockers := ty.check(); len(blockers) != 1 || blockers[0].Name != "zz-foreign" {
		t.Errorf("expected the foreign instance to block, got %v", blockers)
	}
	ty.remove(ty.widget("zz-foreign"))
	ty.mustDelete()
}
