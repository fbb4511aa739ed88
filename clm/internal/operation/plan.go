// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/clm/internal/sources"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/pkg/inventory"
	"github.com/component-operator/runtime/pkg/reconciler"
	"github.com/component-operator/runtime/pkg/types"
)

// Request describes the desired release.
type Request struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// Sources render its objects.
	Sources *sources.Set
	// KeepHooks reads the hooks and waves of the same tools as for the current revision, if it has any, instead of
	// those set for the sources.
	KeepHooks bool
	// Policies are the defaults for objects without annotations.
	Policies reconciler.Policies
	// CreateNamespace creates the namespace of a new release if it does not exist.
	CreateNamespace bool
	// Conflicts decides what happens to fields of other field managers. Defaults to ConflictsDefault.
	Conflicts Conflicts
	// Description describes the new revision. Defaults to "applied".
	Description string
	// Approved identifies the deletions that the user has approved. It has no effect unless exactly these are held
	// back.
	Approved string
	// DependsOn are the releases in the same namespace that must be ready before this one is applied. Defaults to those
	// of the current revision if it is nil.
	DependsOn []string
	// Labels are merged into those of the current revision, unless ReplaceLabels is set; the value "null" removes a label,
	// as in Helm.
	Labels        map[string]string
	ReplaceLabels bool
	// ReuseValues merges the values of the sources into those of the current revision.
	ReuseValues bool
	// UnlessReady ends the planning after one request if the sources render the current revision, and that is recorded as
	// ready. Then the plan is idle, whatever others have done to the objects.
	UnlessReady bool
	// Await is how long to wait until they are ready; 0 means no limit. Defaults to not waiting; then the plan has them
	// in Unready.
	Await *time.Duration
	// Announce, if set, is called when planning begins, after all waiting, and its result at the end.
	Announce func() (done func())
}

// Operation is the purpose of a plan.
type Operation string

const (
	// Apply applies what sources render.
	Apply Operation = "apply"
	// Rollback returns to an earlier revision.
	Rollback Operation = "rollback"
	// Heal applies the current revision again.
	Heal Operation = "drift"
	// Adopt is like Heal, but also adopts objects of other owners.
	Adopt Operation = "adopt"
	// Orphan ends the ownership of objects.
	Orphan Operation = "orphan"
	// Move moves objects from one release to another.
	Move Operation = "move"
)

// Plan is what an operation will do, based on the record of the release and the cluster as they were found.
type Plan struct {
	intent

	// Release as it was found. It has no revision if there is none yet.
	Release *releases.Release
	// Content of the revision.
	Content releases.Content
	// Changes are what will happen to objects.
	Changes []reconciler.Change

	// Unready describes the dependencies that are not ready.
	Unready []string

	connection *runner.Connection
	objects    []client.Object
	takeOver   []types.ObjectKey
	target     *runner.Target
	// keeper decides which fields are left to others; nil unless the plan is made from sources.
	keeper *keeper
	// namespaceMissing means that the namespace of a new release does not exist.
	namespaceMissing bool
	// spared lists the redundant objects that stay because they were adopted.
	spared []string
	// confirm returns the error of releases.Changed if Helm has changed the release since it was read; nil unless it is
	// adopted from Helm.
	confirm func(ctx context.Context) error
}

// intent is the part of a plan that is saved as it is: everything except the release and the content of the revision.
type intent struct {
	// Operation is the purpose of the plan.
	Operation Operation `json:"operation"`
	// New means that the revision is not recorded yet.
	New bool `json:"new"`
	// Revision is the revision to be applied.
	Revision releases.Revision `json:"revision"`
	// Exact is the plan of the engine.
	Exact *reconciler.Plan `json:"plan"`
	// Adoption is the adoption policy given for this operation; empty if none was given.
	Adoption reconciler.AdoptionPolicy `json:"adoption,omitempty"`
	// Approved identifies the held deletions that the user has approved.
	Approved string `json:"approved,omitempty"`
	// CreateNamespace creates the namespace of a new release if it does not exist.
	CreateNamespace bool `json:"createNamespace,omitempty"`
	// Again means that the last operation failed, so failed objects run again. An interrupted operation just continues.
	Again bool `json:"again,omitempty"`
}

// Close stops watching the dependents. It may be called more than once.
func (p *Plan) Close() {
	if p.target != nil {
		p.target.Close()
	}
}

// Idle reports whether there is nothing to do and nothing to wait for.
func (p *Plan) Idle() bool {
	return !p.New && p.Release.State == releases.StateReady && len(p.Pending()) == 0
}

// Pending returns the changes, without the entries of objects that stay as they are.
func (p *Plan) Pending() []reconciler.Change {
	var pending []reconciler.Change
	for _, change := range p.Changes {
		if change.Verb != "" && !IsOver(change) || change.Refusal != "" {
			pending = append(pending, change)
		}
	}
	return pending
}

// IsOver reports whether a change is only a note about an object that has completed and is gone, such as a Job with
// ttlSecondsAfterFinished.
func IsOver(change reconciler.Change) bool {
	return change.Verb == reconciler.VerbCompleted && change.UID == "" && change.Before == nil
}

// Refused returns a RefusedError if the plan cannot be carried out: the namespace of the release does not exist,
// objects belong to other owners, or their deletion has to be approved. Otherwise it returns nil.
func (p *Plan) Refused() error {
	var missing error
	if p.namespaceMissing && !p.CreateNamespace {
		missing = errMissing(p.Release.Namespace)
	}
	return errors.Join(missing, protected(p.Release, p.Changes), p.Unapproved())
}

// protected returns a RefusedError with the objects of other owners that prevent the plan from being carried out; nil
// if there are none.
func protected(release *releases.Release, changes []reconciler.Change) error {
	var problems []string
	for _, change := range changes {
		if change.Foreign {
			problems = append(problems, fmt.Sprintf("%s: %s", change.Object, change.Refusal))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return releases.Refused("%s; %s", strings.Join(releases.Grouped(problems), "; "), releases.AdviceForeign(release, problems))
}

// Rejected returns the number of objects that the API server would currently refuse. They do not prevent the plan from
// being carried out, because the server may accept them later, for example if a webhook depends on objects that the
// plan creates first.
func (p *Plan) Rejected() int {
	count := 0
	for _, change := range p.Changes {
		if change.Refusal != "" && !change.Foreign {
			count++
		}
	}
	return count
}

// UnknownFields returns a RefusedError with the fields of objects that their types do not have, which the API server
// leaves out; nil if there are none, or if it was not asked.
func (p *Plan) UnknownFields() error {
	var problems []string
	for _, change := range p.Changes {
		for _, note := range change.Notes {
			if strings.HasPrefix(note, inventory.UnknownFieldsNote) || strings.Contains(note, `unknown field "`) {
				problems = append(problems, fmt.Sprintf("%s: %s", change.Object, note))
			}
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return releases.Refused("--strict allows no fields that a type does not have: %s", strings.Join(releases.Grouped(problems), "; "))
}

// Unapproved returns a RefusedError with the objects whose deletion has to be approved; nil if there are none.
func (p *Plan) Unapproved() error {
	return runner.Unapproved(p.Exact.Held)
}

// PlanSources plans to bring the release to the requested state. With compare, it asks the server what would happen to
// each object, which takes one or two requests per object; with ConflictsKeep, it always does so. If the release has no
// record, but objects or parts of a record exist, the error is a RefusedError. The caller closes the plan.
func PlanSources(ctx context.Context, c *runner.Connection, request Request, compare bool) (*Plan, error) {
	release, err := find(ctx, c, request.Namespace, request.Name)
	if err != nil {
		return nil, err
	}
	plan := &Plan{connection: c, Release: release, intent: intent{
		Operation: Apply, Adoption: request.Policies.Adoption, CreateNamespace: request.CreateNamespace, Approved: request.Approved,
	}}
	if err := request.inherit(ctx, c, release); err != nil {
		return nil, err
	}
	if request.UnlessReady && release.State == releases.StateReady {
		plan.keeper = &keeper{plan: plan, conflicts: request.Conflicts}
		if err := plan.render(ctx, request); err != nil {
			return nil, err
		} else if !plan.New {
			return plan, nil
		}
	}
	if err := plan.AwaitDependencies(ctx, request.DependsOn, request.Await); err != nil {
		return nil, err
	}
	if request.Announce != nil {
		defer request.Announce()()
	}
	if plan.namespaceMissing, err = isMissing(ctx, c.Client(), release); err != nil {
		return nil, err
	}
	if err := plan.observe(); err != nil {
		return nil, err
	}
	if err = decide(ctx, plan, request, compare); err == nil {
		err = errors.Join(confirmNew(ctx, c.Records(), plan), plan.keepsDefinitions(request.Sources))
	}
	if err != nil {
		plan.Close()
		return nil, err
	}
	return plan, nil
}

// inherit completes a request with what it takes from the current revision.
func (r *Request) inherit(ctx context.Context, c *runner.Connection, release *releases.Release) error {
	current := release.Current()
	if current == nil {
		current = &releases.Revision{}
	} else if r.ReuseValues {
		content, err := c.Records().Content(ctx, release, current.Number)
		if err != nil {
			return fmt.Errorf("reading the values of revision %d: %w", current.Number, err)
		}
		r.Sources = r.Sources.Over(content.Values)
	}
	if r.DependsOn == nil {
		r.DependsOn = current.DependsOn
	}
	labels := map[string]string{}
	if !r.ReplaceLabels {
		maps.Copy(labels, current.Labels)
	}
	maps.Copy(labels, r.Labels)
	maps.DeleteFunc(labels, func(_, value string) bool { return value == "null" })
	r.Labels = labels
	return nil
}

// keepsDefinitions returns a RefusedError if sources leave out a CustomResourceDefinition that the release has: it would
// be deleted with all its objects.
func (p *Plan) keepsDefinitions(set *sources.Set) error {
	definition := schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	for _, change := range p.Changes {
		if set.SkipsDefinitions() && change.Verb == reconciler.VerbDeleted && types.IDOf(change.Object).GroupKind == definition {
			return releases.Refused("%s belongs to release %s, and would be deleted because --skip-crds leaves it out; leave out --skip-crds, or, to keep it without the "+
				"release: clm orphan %s %s -n %s", change.Object, p.Release, p.Release.Name, display.ObjectOf(change.Object).Argument(), p.Release.Namespace)
		}
	}
	return nil
}

// observe starts to watch the dependents of the release.
func (p *Plan) observe() (err error) {
	if p.target == nil {
		p.target, err = runner.NewTarget(p.connection, releases.OwnerID(p.Release.Namespace, p.Release.Name), p.Release.Inventory)
	}
	return err
}

// find reads a release, or returns a new one.
func find(ctx context.Context, c *runner.Connection, namespace, name string) (*releases.Release, error) {
	if err := c.Ready(ctx); err != nil {
		return nil, err
	}
	release, err := c.Records().Get(ctx, namespace, name)
	switch {
	case errors.Is(err, releases.ErrNotFound):
		return &releases.Release{Namespace: namespace, Name: name, State: releases.StateApplying}, nil
	case err != nil:
		return nil, err
	case release.State == releases.StateDeleting:
		return nil, releases.BeingDeleted(release)
	default:
		return release, nil
	}
}

// Compare computes the changes. If that fails, it closes the plan. With compare, it asks the server what would happen
// to each object.
func (p *Plan) Compare(ctx context.Context, compare bool) error {
	p.objects = objectsOf(p)
	p.Again = (p.Operation == Apply || p.Operation == Rollback) && p.Release.State == releases.StateFailed
	if err := p.observe(); err != nil {
		return err
	}
	options := reconciler.PlanOptions{Compare: compare, LeftAlone: p.Operation == Heal}
	found, err := p.target.Engine().Plan(ctx, p.request(nil), options)
	if err != nil {
		p.Close()
		return p.ofRecord(err)
	}
	p.Exact, p.Changes = &found, found.Changes
	return nil
}

// TakeOver adds objects that the plan adopts even if they have another owner.
func (p *Plan) TakeOver(objects ...types.ObjectKey) { p.takeOver = append(p.takeOver, objects...) }

// ofRecord adds advice to an error about objects that the engine refuses: objects of a recorded revision can only be
// replaced by a new revision.
func (p *Plan) ofRecord(err error) error {
	if _, rejected := errors.AsType[*reconciler.RefusedError](err); p.Operation == Apply || !rejected {
		return err
	}
	name, namespace := p.Release.Name, p.Release.Namespace
	return fmt.Errorf("a recorded revision of release %s is no longer accepted: %w; nothing was changed. To create a new revision: clm apply %s SOURCE... -n %s",
		p.Release, err, name, namespace)
}

// request returns the request for the engine.
func (p *Plan) request(save reconciler.Store) reconciler.ApplyRequest {
	policies := Lasting(p.Revision.Policies)
	policies.Adoption = cmp.Or(p.Adoption, policies.Adoption)
	owner := ownerOf(p.target, p.Release)
	owner.Store = save
	return reconciler.ApplyRequest{
		Owner:    owner,
		Objects:  p.objects,
		Version:  p.Revision.Inputs,
		Digest:   digestOf(p.Revision),
		Policies: policies,
		TakeOver: p.takeOver,

		Deletions: reconciler.Deletions{Approved: p.Approved},
		// Objects that Helm installed as this release did not exist before the release.
		RecordAdoptions: p.confirm == nil,
		RerunFailed:     p.Again,
	}
}

// ownerOf returns a release as the owner of its dependents.
func ownerOf(target *runner.Target, release *releases.Release) reconciler.Owner {
	return reconciler.Owner{ID: target.Owner(), Namespace: release.Namespace, Home: []string{release.Namespace}, Inventory: release.Inventory}
}

// lacksNamespace reports whether a request has failed because the namespace does not exist.
func lacksNamespace(err error) bool {
	status, found := errors.AsType[*apierrors.StatusError](err)
	return found && apierrors.IsNotFound(err) && status.ErrStatus.Details != nil && status.ErrStatus.Details.Kind == "namespaces"
}

// isMissing reports whether the namespace of a new release does not exist. If the user may not read the namespace, it
// returns false.
func isMissing(ctx context.Context, clnt client.Client, release *releases.Release) (bool, error) {
	if release.Recorded() {
		return false, nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := clnt.Get(ctx, client.ObjectKey{Name: release.Namespace}, namespace)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil && !apierrors.IsForbidden(err):
		return false, fmt.Errorf("reading namespace %s: %w", release.Namespace, err)
	default:
		return false, nil
	}
}

// errMissing returns the RefusedError for a release whose namespace does not exist.
func errMissing(namespace string) error {
	return releases.Refused("namespace %s does not exist; to create it: --create-namespace", namespace)
}

// createNamespace creates the namespace of the release, or returns a RefusedError unless CreateNamespace is set.
func createNamespace(ctx context.Context, p *Plan) error {
	name := p.Release.Namespace
	if !p.CreateNamespace {
		return errMissing(name)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := p.connection.Client().Create(ctx, namespace, client.FieldOwner(releases.ReconcilerName)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return nil
}

// Shown returns the changes of objects, preceded by the missing namespaces that would be created although the revision
// does not declare them.
func (p *Plan) Shown() []reconciler.Change {
	missing := slices.Clone(p.Exact.Namespaces)
	if p.namespaceMissing && !slices.Contains(missing, p.Release.Namespace) {
		missing = append(missing, p.Release.Namespace)
		slices.Sort(missing)
	}
	var changes []reconciler.Change
	for _, name := range missing {
		created := creationOf(p, name)
		if !slices.ContainsFunc(p.Changes, func(change reconciler.Change) bool { return types.IDOf(change.Object) == types.IDOf(created.Object) }) {
			changes = append(changes, created)
		}
	}
	return append(changes, p.Changes...)
}

// creationOf returns the change that creates a missing namespace.
func creationOf(p *Plan, name string) reconciler.Change {
	change := reconciler.Change{Verb: reconciler.VerbCreated, Reason: "is needed by objects; will not be deleted with the release"}
	change.Object.Version, change.Object.Kind, change.Object.Name = "v1", "Namespace", name
	if p.namespaceMissing && name == p.Release.Namespace {
		change.Reason = "is needed by the release; will not be deleted with it"
		if !p.CreateNamespace {
			change.Reason, change.Refusal = "", "does not exist; to create it: --create-namespace"
		}
	}
	return change
}

// dependent is an object in the manifest or the inventory of a release.
type dependent struct {
	display.Object
	// rendered is the index of the object in the manifest of the current revision; negative if it is not there.
	rendered int
	// item of the inventory; nil if there is none.
	item *reconciler.InventoryItem
}

// dependentsOf returns the recorded dependents of the release and the objects of its revision that are applied, sorted.
func dependentsOf(mapper meta.RESTMapper, plan *Plan) ([]dependent, error) {
	found := map[display.Key]dependent{}
	for _, item := range plan.Release.Inventory {
		found[display.KeyOf(item)] = dependent{Object: display.ObjectOf(item), rendered: -1, item: item}
	}
	for i, object := range plan.Content.Manifest {
		if !plan.Applies(object) {
			continue
		}
		namespace, err := display.Namespace(mapper, object, plan.Release.Namespace)
		if err != nil {
			return nil, err
		}
		placed := display.ObjectOf(object)
		placed.Namespace = namespace
		found[placed.Key()] = dependent{Object: placed, rendered: i, item: found[placed.Key()].item}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b dependent) int { return cmp.Compare(a.String(), b.String()) }), nil
}

// findHeld returns the index of an object in a list; negative if it is not there.
func findHeld(list []dependent, object types.ObjectKey) int {
	return slices.IndexFunc(list, func(p dependent) bool { return display.KeyOf(p) == display.KeyOf(object) })
}

// leaveOut derives a revision without the objects for a plan. If the current revision has none of them, it stays.
func leaveOut(plan *Plan, list []dependent, description string) error {
	content := plan.Content
	content.Manifest = nil
	for i, object := range plan.Content.Manifest {
		if !slices.ContainsFunc(list, func(left dependent) bool { return left.rendered == i }) {
			content.Manifest = append(content.Manifest, object)
		}
	}
	if len(content.Manifest) == len(plan.Content.Manifest) {
		return nil
	}
	return plan.Derive(content, description)
}

// forget removes objects from the inventory of a release that hands them over. When this is recorded, they already
// belong to others.
func forget(release *releases.Release, list []dependent) {
	release.Inventory = slices.DeleteFunc(release.Inventory, func(item *reconciler.InventoryItem) bool { return findHeld(list, item) >= 0 })
}

// shownObjects bounds how many objects a description names.
const shownObjects = 10

// objectTexts lists up to shownObjects objects for people, and counts the others.
func objectTexts(list []dependent) string {
	return display.Enumerate(display.Map(list, dependent.String), shownObjects)
}

// DriftState is what will happen to an object that differs from its revision.
type DriftState string

const (
	// DriftHealable means that the object was changed or deleted, and that it can be corrected or restored.
	DriftHealable DriftState = "Correctable"
	// DriftLeftAlone means that the object was changed or deleted, and that its drift policy leaves it alone.
	DriftLeftAlone DriftState = "LeftAlone"
	// DriftRefused means that the object cannot be corrected, because it has another owner, or the server would reject
	// it.
	DriftRefused DriftState = "Refused"
	// DriftPending means that the object has not drifted: the revision was not applied completely.
	DriftPending DriftState = "Pending"
)

// Drift is one object that differs from its revision.
type Drift struct {
	reconciler.Change

	State DriftState
}

// IsCorrectable reports whether a correction does anything about the object.
func (d Drift) IsCorrectable() bool { return d.State == DriftHealable || d.State == DriftPending }

// Drift returns the objects that differ from the revision, in the order of the changes. Use it only with plans from
// PlanCurrent.
func (p *Plan) Drift() []Drift {
	recorded := make(map[display.Key]*reconciler.InventoryItem, len(p.Release.Inventory))
	for _, item := range p.Release.Inventory {
		recorded[display.KeyOf(item)] = item
	}
	var drift []Drift
	for _, change := range p.Changes {
		if state := driftState(change, recorded[display.KeyOf(change.Object)]); state != "" {
			drift = append(drift, Drift{Change: change, State: state})
		}
	}
	return drift
}

func driftState(change reconciler.Change, item *reconciler.InventoryItem) DriftState {
	written := item != nil && item.LastAppliedAt != nil
	switch {
	case IsOver(change):
		return ""
	case change.Refusal != "":
		return DriftRefused
	case change.Verb.IsCorrection(), change.Verb == reconciler.VerbAdopted && written:
		return DriftHealable
	case change.Verb != "":
		return DriftPending
	case change.Reason != "" && written && item.Phase != reconciler.PhaseFailed && item.Phase != reconciler.PhaseKept:
		return DriftLeftAlone
	default:
		return ""
	}
}
