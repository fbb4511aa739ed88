// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor compares the records of releases with the cluster, and repairs records.
//
// # Contract
//
// An examination changes nothing. A repair writes only records and locks: it creates, changes or deletes no dependent.
// It holds the lock of the release, waits for it only briefly, and reads the cluster again before it writes. The marks
// of a release are evidence only in the namespaces of the release, because any user can put marks on an object.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/display"
	"github.com/component-operator/runtime/internal/manifest"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// FindingKind is the kind of a problem.
type FindingKind string

const (
	// FindingDamaged is a record that cannot be read completely.
	FindingDamaged FindingKind = "DamagedRecord"
	// FindingLost is a release without a record that has objects or parts of a record.
	FindingLost FindingKind = "LostRecord"
	// FindingGone is a recorded object that does not exist.
	FindingGone FindingKind = "Missing"
	// FindingStolen is a recorded object that has another owner, or none.
	FindingStolen FindingKind = "NotOwned"
	// FindingUnrecorded is an object with the mark of a release that has not recorded it.
	FindingUnrecorded FindingKind = "Unrecorded"
	// FindingStuck is a namespace that waits for a record.
	FindingStuck FindingKind = "Stuck"
)

// Finding is one problem of a release.
type Finding struct {
	Kind FindingKind
	// Release is the namespace and name of the release.
	Release string
	// Object is the object in question; nil if the record itself has the problem.
	Object *display.Object
	// Message describes the problem.
	Message string
	// Remedy describes what Repair would do; empty if the problem cannot be repaired.
	Remedy string
	// Advice describes what the user can do; may be empty.
	Advice string

	// Repair carries out Remedy, which must not be empty. It writes only records: it creates, changes or deletes no
	// dependent.
	Repair func(ctx context.Context) error
}

// Diagnosis is the result of an examination.
type Diagnosis struct {
	// Releases is the number of releases that were examined.
	Releases int
	// Findings, sorted by release.
	Findings []Finding
	// Notes describe what could not be read.
	Notes []string
}

// Request specifies what to examine.
type Request struct {
	// Namespace of the releases. Defaults to all namespaces.
	Namespace string
	// Name of the release. Defaults to all.
	Name string
	// Trusted are further namespaces in which the marks of a release count. Defaults to none.
	Trusted []string
}

// Examine compares the records of releases with the cluster. It changes nothing. The error is releases.ErrNotFound if
// there is no trace of a release with the name.
func Examine(ctx context.Context, c *runner.Connection, request Request) (*Diagnosis, error) {
	e := &examination{
		Request: request, connection: c, diagnosis: &Diagnosis{},
		recorded: map[string][]string{}, unread: map[string]bool{},
	}
	for _, step := range []func(context.Context) error{e.readRecords, e.sweepCluster, e.examineLost, e.examineIntact} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if request.Name != "" && len(e.recorded) == 0 && len(e.diagnosis.Findings) == 0 {
		return nil, c.Absent(ctx, request.Namespace, request.Name)
	}
	slices.SortStableFunc(e.diagnosis.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Release, b.Release), cmp.Compare(a.Kind, b.Kind))
	})
	slices.Sort(e.diagnosis.Notes)
	e.diagnosis.Notes = slices.Compact(e.diagnosis.Notes)
	// Repairs refer to the examination, but do not need the objects.
	e.found, e.byKey = nil, nil
	return e.diagnosis, nil
}

// examination is one call of Examine.
type examination struct {
	Request

	connection *runner.Connection
	diagnosis  *Diagnosis

	// recorded are the namespaces of the objects of each release with a record, by namespace and name of the release;
	// intact are the releases whose record can be read completely.
	recorded map[string][]string
	intact   []apitypes.NamespacedName
	// unread are the releases whose record exists but cannot be used, by namespace and name.
	unread map[string]bool
	found  []markedObject
	byKey  map[display.Key]markedObject
}

// add adds a finding. The repair of each finding with a remedy is to rebuild the record.
func (e *examination) add(finding Finding) {
	if finding.Remedy != "" {
		namespace, name, _ := strings.Cut(finding.Release, "/")
		finding.Repair = func(ctx context.Context) error { return e.rebuild(ctx, namespace, name) }
	}
	e.diagnosis.Findings = append(e.diagnosis.Findings, finding)
}

func (e *examination) note(format string, args ...any) {
	e.diagnosis.Notes = append(e.diagnosis.Notes, fmt.Sprintf(format, args...))
}

// readRecords reads the records of all releases to examine. It keeps only the namespaces of their objects, because all
// records together may be too large.
func (e *examination) readRecords(ctx context.Context) error {
	names := []apitypes.NamespacedName{{Namespace: e.Namespace, Name: e.Name}}
	if e.Name == "" {
		var err error
		if names, err = e.connection.Records().Names(ctx, e.Namespace); err != nil {
			return err
		}
	}
	for _, name := range names {
		release, err := e.connection.Records().Get(ctx, name.Namespace, name.Name)
		var damaged *releases.DamagedError
		switch {
		case errors.Is(err, releases.ErrNotFound):
			continue
		case errors.As(err, &damaged):
			e.recorded[name.String()] = namespacesOf(release)
			e.add(Finding{
				Kind: FindingDamaged, Release: name.String(), Message: fmt.Sprintf("%s is damaged: %s", damaged.Part, damaged.Damage),
				Remedy: "the record will be rebuilt from the dependents that are found by their labels, and from the revisions that are left",
			})
		case err != nil && e.Name != "":
			return err
		case err != nil:
			e.note("%s", err)
			e.unread[name.String()] = true
		default:
			e.recorded[name.String()] = namespacesOf(release)
			e.intact = append(e.intact, name)
		}
	}
	e.diagnosis.Releases = len(e.recorded)
	return nil
}

// sweepCluster finds all objects with the mark of a release.
func (e *examination) sweepCluster(ctx context.Context) error {
	operator, values := selection.Exists, []string(nil)
	if e.Name != "" {
		operator, values = selection.Equals, []string{manifest.OwnerLabel(releases.OwnerID(e.Namespace, e.Name))}
	}
	requirement, err := labels.NewRequirement(releases.Label, operator, values)
	if err != nil {
		return fmt.Errorf("selecting dependents: %w", err)
	}
	s := &sweep{examination: e, selector: labels.NewSelector().Add(*requirement), forbidden: map[string][]string{}}
	if e.Namespace != "" {
		s.namespaces = append(s.namespaces, e.Namespace)
	}
	for _, found := range e.recorded {
		s.namespaces = append(s.namespaces, found...)
	}
	slices.Sort(s.namespaces)
	s.namespaces = slices.Compact(s.namespaces)
	if err := s.run(ctx); err != nil {
		return err
	}
	e.byKey = make(map[display.Key]markedObject, len(e.found))
	for _, found := range e.found {
		e.byKey[display.KeyOf(found)] = found
	}
	return nil
}

// denied turns an error about missing permissions into a note, and returns all other errors.
func (e *examination) denied(err error) error {
	if apierrors.IsForbidden(err) {
		e.note("%s", err)
		return nil
	}
	return err
}

// anyType matches all types of the server.
var anyType = []reconciler.TypeVersionInfo{{Group: "*", Version: "*", Kind: "*"}}

// lockTimeout is how long a repair waits for the lock of a release: long enough for the lock of a dead process to
// expire.
const lockTimeout = 30 * time.Second

// rebuild writes an intact, damaged or lost record of a release again. It holds the lock of the release, which need not
// exist.
func (e *examination) rebuild(ctx context.Context, namespace, name string) error {
	locked := &releases.Release{Namespace: namespace, Name: name}
	o, done, err := runner.Begin(ctx, e.connection, locked, runner.NewQuietBoard("doctor"), runner.Limits{LockTimeout: lockTimeout})
	if err != nil {
		return err
	}
	defer done()
	ctx, stop := o.WatchLock(ctx)
	defer stop()
	records := e.connection.Records()
	release, err := records.Get(ctx, namespace, name)
	write := records.Save
	var damaged *releases.DamagedError
	switch {
	case errors.Is(err, releases.ErrNotFound):
		write = records.Restore
		release = locked
		release.State, release.Message = releases.StateApplying, "the record was lost; its revisions are, too"
	case errors.As(err, &damaged):
		if release.State == "" {
			release.State, release.Message = releases.StateApplying, "the record was damaged; its revisions are lost"
		}
	case err != nil:
		return err
	}
	if err := e.complete(ctx, release); err != nil {
		return err
	}
	if err := o.CheckLock(ctx); err != nil {
		return fmt.Errorf("recording release %s: %w", release, err)
	}
	isLost := !release.Recorded()
	if err := write(ctx, release); err != nil || !isLost || len(release.Inventory) > 0 {
		return err
	}
	// No objects were found, only parts of a record.
	return records.Remove(ctx, release)
}

// complete adds the objects whose labels count as evidence to the inventory.
func (e *examination) complete(ctx context.Context, release *releases.Release) error {
	within, err := e.evidenceNamespaces(ctx, release)
	if err != nil {
		return err
	}
	t, err := runner.NewTarget(e.connection, releases.OwnerID(release.Namespace, release.Name), nil)
	if err != nil {
		return err
	}
	defer t.Close()
	request := reconciler.RebuildRequest{ID: t.Owner(), Known: release.Inventory, Types: anyType, Namespaces: namespacesOf(release)}
	if current := release.Current(); current != nil {
		request.Policies = current.Policies
	}
	result, err := t.Engine().Rebuild(ctx, request)
	release.Inventory = slices.DeleteFunc(result.Inventory, func(item *reconciler.InventoryItem) bool { return !within.Has(item.Namespace) })
	return err
}

// evidenceNamespaces returns the namespaces in which marks of a release count as evidence: its own, those of its
// dependents, those of the objects of its current revision, and the trusted ones. Any user can set marks, which are
// labels, annotations and a field manager. In other namespaces they prove nothing: the release has no objects there, and
// its users may have no permissions there. The empty one is for cluster-scoped objects: only users with permissions in
// the whole cluster can set marks there.
func (e *examination) evidenceNamespaces(ctx context.Context, release *releases.Release) (sets.Set[string], error) {
	found := sets.New("").Insert(namespacesOf(release)...).Insert(e.Trusted...)
	current := release.Current()
	if current == nil {
		return found, nil
	}
	content, err := e.connection.Records().Content(ctx, release, current.Number)
	var damaged *releases.DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	for _, object := range content.Manifest {
		found.Insert(object.GetNamespace())
	}
	return found, nil
}

// namespacesOf returns the namespaces of a release and its dependents, sorted.
func namespacesOf(release *releases.Release) []string {
	namespaces := []string{release.Namespace}
	for _, item := range release.Inventory {
		if item.Namespace != "" {
			namespaces = append(namespaces, item.Namespace)
		}
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}
