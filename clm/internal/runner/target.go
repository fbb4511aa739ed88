// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"time"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Target has an engine for one owner of dependents.
type Target struct {
	engine *reconciler.Reconciler
	owner  string
	// seen is called for each object that the engine has written or judged.
	seen func(object types.ObjectKey, found status.Status, message string)
}

// watchDelay is shorter than the time that a person takes to answer a question.
const watchDelay = time.Second

// NewTarget returns an engine for an owner, and starts to watch the recorded dependents. The caller closes it.
func NewTarget(c *connection.Connection, owner string, recorded []*reconciler.InventoryItem) (*Target, error) {
	t := &Target{owner: owner, seen: func(types.ObjectKey, status.Status, string) {}}
	var err error
	t.engine, err = reconciler.New(releases.ReconcilerName, c.Client(), reconciler.Options{
		Owner: owner, WatchDelay: watchDelay, Clock: c.Clock(), AwaitReports: true,
		OnStatus: func(object types.ObjectKey, found status.Status, message string) { t.seen(object, found, message) },
	})
	if err != nil {
		return nil, err
	}
	var needs []reconciler.Need
	for _, item := range recorded {
		if item.Phase != reconciler.PhaseCompleted {
			needs = append(needs, reconciler.Need{Kind: item.GroupVersionKind(), Namespaces: []string{item.Namespace}})
		}
	}
	t.engine.Watch(owner, needs)
	return t, nil
}

// Engine returns the engine, which applies and deletes the dependents.
func (t *Target) Engine() *reconciler.Reconciler { return t.engine }

// Owner returns the id of the owner.
func (t *Target) Owner() string { return t.owner }

// ShowOn shows each object on a board as soon as the engine has written or judged it. It must not be called while the engine runs.
func (t *Target) ShowOn(board *Board) { t.seen = board.seen }

// Close stops watching.
func (t *Target) Close() { t.engine.Close() }
