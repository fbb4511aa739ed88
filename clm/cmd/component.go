// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/clm/internal/views"
	"github.com/component-operator/runtime/internal/display"
)

// componentView shows a component: its state, its conditions, counts, and the dependents that are not ready.
type componentView struct {
	*views.Snapshot
}

func (v componentView) write(out io.Writer, style display.Style, width int) error {
	return writeStatus(out, style, width, v.Snapshot)
}

func (v componentView) facts() []fact {
	if v.Component.IsNew() {
		return []fact{{v.Target.String(), "the operator has not reconciled it yet"}}
	}
	_, reason, message := v.Component.Status.GetState()
	facts := []fact{{v.Target.String(), fmt.Sprintf("%s, %s: %s", v.Component.Status.State, reason, display.OneText(message))}}
	return append(facts, dependentFacts(v.Dependents)...)
}

func (v componentView) object() *unstructured.Unstructured {
	_, reason, message := v.Component.Status.GetState()
	status := map[string]any{"state": v.Component.Status.State, "reason": reason, "conditions": v.Component.Conditions(), "dependents": len(v.Component.Inventory)}
	addKnown(status, map[string]any{"message": message, "revision": v.Component.Status.Revision, "cluster": v.Component.Cluster, "problem": v.Component.Problem})
	addSituation(status, v.Snapshot)
	content := map[string]any{"component": display.ObjectOf(v.Component.Object), "status": status}
	return resource("Component", v.Target.Namespace, v.Target.Name, content)
}
