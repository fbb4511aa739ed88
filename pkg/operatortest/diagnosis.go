// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operatortest

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// diagnosis finds out for messages why something did not happen.
type diagnosis struct {
	ctx    context.Context //nolint:containedctx // the life of the test, which waits in vain
	client client.Client
	log    *logTail
}

func (c *Cluster) diagnosis() diagnosis {
	return diagnosis{ctx: c.ctx, client: c.client, log: c.log}
}

// describe says for a message how an object stands.
func (d diagnosis) describe(object *unstructured.Unstructured, gone bool) string {
	switch {
	case object == nil:
		return "it does not exist\n" + d.log.String()
	case gone:
		return "it was deleted\n" + d.log.String()
	}
	declared, err := statusOf(object)
	if err != nil {
		return err.Error() + "\n" + d.log.String()
	}
	var conditions []string
	for _, condition := range declared.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s (%s): %s", condition.Type, condition.Status, condition.Reason, condition.Message))
	}
	if observed := declared.ObservedGeneration; observed != object.GetGeneration() {
		conditions = append(conditions, fmt.Sprintf("they are about generation %d, the object has %d", observed, object.GetGeneration()))
	}
	return stateLine(stepOf(declared)) + section("conditions", conditions) + section("dependents that are not ready", unready(declared.Inventory)) +
		section("events", d.events(object)) + d.log.String()
}

// stateLine is the state of a component in one line; empty if there is none, as in objects that are no components.
func stateLine(step Step) string {
	if step.State == "" {
		return ""
	}
	line := "state: " + step.State
	if step.Reason != "" {
		line += " (" + step.Reason + ")"
	}
	if step.Message != "" {
		line += ": " + step.Message
	}
	return line + "\n"
}

func unready(inventory []*reconciler.InventoryItem) []string {
	var lines []string
	for _, item := range inventory {
		if item.Status != status.CurrentStatus {
			lines = append(lines, fmt.Sprintf("%s: %s, %s", types.IDOf(item), item.Phase, item.Status))
		}
	}
	return lines
}

// events are the messages of events on an object.
func (d diagnosis) events(object *unstructured.Unstructured) []string {
	ctx, cancel := context.WithTimeout(d.ctx, 10*time.Second)
	defer cancel()
	list := &corev1.EventList{}
	if err := d.client.List(ctx, list, client.InNamespace(object.GetNamespace()), client.MatchingFields{"involvedObject.uid": string(object.GetUID())}); err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for _, event := range list.Items {
		lines = append(lines, event.Type+" "+event.Reason+": "+event.Message)
	}
	return lines
}
