// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// StatusCompleted is the status of a dependent that has served its purpose and was removed. It has no live object.
const StatusCompleted = status.Status("Completed")

// StatusStolen is the status of a dependent that belongs to another owner, or to none.
const StatusStolen = status.Status("NotOwned")

// DigestTakenOver is the digest of completed items that the engine has not made: another tool has applied them, before
// a release was adopted from it. To the engine they are completed, whatever their manifests are.
const DigestTakenOver = "taken-over"

// Node is an object in the cluster and what it owns: a dependent, or something below one, of which Wave, Phase, Verb,
// State and Since are empty.
type Node struct {
	// Dependent has the verdict of the analyzer as its status, or NotFound, Unknown if the object may not be read,
	// Completed, or NotOwned.
	Dependent

	// ApplyOrder is that of the inventory; zero for what is not recorded there.
	ApplyOrder int `json:"applyOrder,omitempty"`
	// Created is the time of creation; zero if the object is not there.
	Created time.Time `json:"created,omitzero"`
	// Missing is true if the object should be there and is not.
	Missing bool `json:"missing,omitempty"`
	// Why says what keeps the object from being ready, the most specific reason first.
	Why []Reason `json:"why,omitempty"`
	// Children are the objects that name this one as their owner, sorted by kind and name. ReplicaSets of earlier
	// rollouts, which have no pods any more, are left out.
	Children []*Node `json:"children,omitempty"`

	// Item is the record of a dependent; nil for what is below one.
	Item *reconciler.InventoryItem `json:"-"`
	// Live is the object as it was read; nil if it was not.
	Live *unstructured.Unstructured `json:"-"`
}

// IsReady reports whether there is nothing to be explained.
func (n *Node) IsReady() bool {
	return n.Status == status.CurrentStatus || n.Status == StatusCompleted
}

// Annotation returns an annotation of the live object; empty if there is none.
func (n *Node) Annotation(key string) string {
	if n.Live == nil {
		return ""
	}
	return n.Live.GetAnnotations()[key]
}

// Walk visits the node and all below it.
func (n *Node) Walk(visit func(node *Node)) {
	visit(n)
	for _, child := range n.Children {
		child.Walk(visit)
	}
}

// Source says where a reason was found.
type Source string

const (
	// SourceContainer is the state of a container.
	SourceContainer Source = "container"
	// SourceLog is the last line that a container has written.
	SourceLog Source = "log"
	// SourceCondition is a condition of the object.
	SourceCondition Source = "condition"
	// SourceEvent is an event about the object.
	SourceEvent Source = "event"
	// SourceStatus is anything else that the object itself says.
	SourceStatus Source = "status"
)

// Reason says why an object is not ready.
type Reason struct {
	Source Source `json:"source"`
	// Text is one line without control characters.
	Text string `json:"text"`
	// Since is when it began; zero if that is not known.
	Since time.Time `json:"since,omitzero"`
	// Count is how often it happened; zero for what is a state.
	Count int `json:"count,omitempty"`
	// Vague is true if the text says no more than that the object is not ready.
	Vague bool `json:"-"`
}

// Note says what is missing from a picture of the cluster because the user is not allowed to read it.
type Note struct {
	// Verb is that of the rule which is missing, for example "list".
	Verb string `json:"verb"`
	// Group is the API group of the resource; empty for the core group.
	Group string `json:"group,omitempty"`
	// Resource is the plural name, followed by the subresource if there is one: "pods/log".
	Resource string `json:"resource"`
	// Namespace is empty for cluster-scoped resources.
	Namespace string `json:"namespace,omitempty"`
}

// String says it in plain words.
func (n Note) String() string {
	resource := n.Resource
	if n.Group != "" {
		resource += "." + n.Group
	}
	if n.Namespace == "" {
		return fmt.Sprintf("not shown: you are not allowed to %s %s", n.Verb, resource)
	}
	return fmt.Sprintf("not shown: you are not allowed to %s %s in namespace %s", n.Verb, resource, n.Namespace)
}
