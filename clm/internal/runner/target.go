// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"slices"
	"strings"
	"time"

	"github.com/component-operator/runtime/clm/internal/live"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/gitops"
	"github.com/component-operator/runtime/internal/judges"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/status"
	"github.com/component-operator/runtime/pkg/types"
)

// Target has an engine for one owner of dependents.
type Target struct {
	engine *reconciler.Reconciler
	owner  string
	// inspection has the options for looking at the dependents.
	inspection live.Options
	// board shows each object that the engine has written or judged; nil before the first Convergence.
	board *Board
}

// watchDelay is shorter than the time that a person takes to answer a question.
const watchDelay = time.Second

// reclaimed and reclaimedNames are the field managers whose additions the update policy ssa-override removes: kubectl,
// Helm, which calls itself helm whatever the name of its program is, and the provider of Terraform, whose name has its
// version at the end. What these have set in an object of a release, they had set before the release adopted the
// object. Other programs with Helm's packages, such as helm-controller of Flux, may be at work on the object.
var (
	reclaimed      = []string{"kubectl", "terraform-provider-helm"}
	reclaimedNames = []string{"helm"}
)

// Reclaims reports whether the update policy ssa-override removes additions of a field manager.
func Reclaims(manager string) bool {
	isPrefix := func(prefix string) bool { return strings.HasPrefix(manager, prefix) }
	return slices.ContainsFunc(reclaimed, isPrefix) || slices.Contains(reclaimedNames, manager)
}

// NewTarget returns an engine for an owner, and starts to watch the recorded dependents. The caller closes it.
func NewTarget(c *Connection, owner string, recorded []*reconciler.InventoryItem) (*Target, error) {
	t := &Target{owner: owner, inspection: Inspection(c, owner, nil)}
	var err error
	t.engine, err = reconciler.New(releases.ReconcilerName, c.Client(), reconciler.Options{
		Owner: owner, OwnerKind: "release", WatchDelay: watchDelay, Clock: c.Clock(), AwaitReports: true, MaxConcurrency: c.MaxConcurrency(), ReclaimedFieldManagers: reclaimed,
		ReclaimedFieldManagerNames: reclaimedNames, FormerFinalizers: []string{gitops.HookFinalizer},
		OnStatus: func(object types.ObjectKey, found status.Status, message string) {
			if t.board != nil {
				t.board.seen(object, found, message)
			}
		},
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

// Inspection returns the options with which package live looks at the dependents of an owner.
func Inspection(c *Connection, owner string, items []*reconciler.InventoryItem) live.Options {
	analyzer := status.NewAnalyzer(releases.ReconcilerName, status.Options{Clock: c.Clock()})
	return live.Options{
		Client:      c.Client(),
		Items:       items,
		Judges:      judges.New(releases.ReconcilerName, judges.Await(analyzer, c.Definitions())),
		Definitions: c.Definitions(),
		Selector:    releases.OwnerSelector(owner),
	}
}

// Close stops watching.
func (t *Target) Close() { t.engine.Close() }
