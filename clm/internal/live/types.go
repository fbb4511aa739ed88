// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/cluster"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
)

// Options say what to read.
type Options struct {
	// Client reads from the cluster. It must not answer from a cache. Required.
	Client cluster.Client
	// Items are the inventory of the release. Defaults to none.
	Items []*reconciler.InventoryItem
	// Judges compute the statuses, as in the engine. Defaults to an analyzer without annotations.
	Judges *judges.Judges
	// Definitions learn the types of the dependents before these are judged. Defaults to none.
	Definitions *judges.Definitions
	// Selector selects the dependents by their labels, so that no other objects have to be read. Dependents that have
	// lost their labels are found nevertheless, by one request each. Defaults to everything.
	Selector labels.Selector
	// SkipReasons leaves Node.Why empty, and saves the requests for events and logs.
	SkipReasons bool
	// SkipLogs leaves out what containers wrote last.
	SkipLogs bool
	// MaxExplained is the number of dependents that get reasons; zero means all.
	MaxExplained int
}

// complete returns the options with their defaults.
func (o Options) complete() Options {
	if o.Judges == nil {
		o.Judges = judges.New("", status.NewAnalyzer("", status.Options{}))
	}
	if o.Selector == nil {
		o.Selector = labels.Everything()
	}
	return o
}

// Report is the result of Tree.
type Report struct {
	// Nodes are the dependents, sorted by apply order, kind, namespace and name.
	Nodes []*display.Node `json:"dependents"`
	// Notes say what is missing because the user may not read it. They are sorted.
	Notes []display.Note `json:"notes,omitempty"`
	// Deadline is the time after which a status may change although no object does; zero if there is none.
	Deadline time.Duration `json:"-"`
}

// objectOf returns the identity of an object that was read.
func objectOf(live *unstructured.Unstructured) display.Object {
	object := display.ObjectOf(live)
	object.UID = live.GetUID()
	return object
}
