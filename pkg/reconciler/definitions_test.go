// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"github.com/component-operator/runtime/pkg/reconciler"
)

func TestDefinitionDeletedByOthersIsCreatedAgain(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	manifests := ty.expand(customType)
	ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	before := ty.definition()
	ty.remove(ty.definition())
	ty.settle(manifests, func(result reconciler.Result) (bool, string) {
		after := ty.definition()
		return result.Done && after != nil && after.GetUID() != before.GetUID(), "the definition is not created again: " + notices(result.Waits)
	})
}

func TestRecreationOfDefinitionSparesInstances(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	manifests := ty.expand(strings.Replace(customType, "{name: widgets.GROUP}", "{name: widgets.GROUP, annotations: {PREFIX/update-policy: recreate}}", 1))
	ty.settle(manifests, func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	ty.create(ty.expand(strings.ReplaceAll(widget, "NAME", "foreign")))
	before := ty.definition()
	changed := strings.Replace(manifests, "PREFIX/update-policy", "changed: \"1\", PREFIX/update-policy", 1)
	result, err := ty.apply(changed)
	if err != nil || !strings.Contains(notices(result.Waits), "kept as long as there are instances") {
		t.Errorf("expected to wait for the instance, got %v, %q", err, notices(result.Waits))
	}
	if instance := ty.widget("foreign"); instance == nil || instance.GetDeletionTimestamp() != nil {
		t.Fatal("the foreign instance was deleted together with its definition")
	}
	ty.remove(ty.widget("foreign"))
	ty.settle(changed, func(result reconciler.Result) (bool, string) {
		after := ty.definition()
		return result.Done && after != nil && after.GetUID() != before.GetUID(), "the definition is not created again: " + notices(result.Waits)
	})
}

func TestUnlabelledDefinitionIsReleased(t *testing.T) {
	t.Parallel()
	ty := newTyped(t)
	ty.settle(ty.expand(customType), func(result reconciler.Result) (bool, string) { return result.Done, notices(result.Waits) })
	ty.patch(ty.definition(), `{"metadata":{"labels":{"PREFIX/owner-id":null}}}`)
	ty.mustDelete()
}
