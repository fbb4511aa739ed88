// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/ownership"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/internal/digest"
)

// FindingKind says what is wrong.
type FindingKind string

const (
	// FindingDamaged is a record that cannot be read completely.
	FindingDamaged FindingKind = "DamagedRecord"
	// FindingLost is a release without a record, of which there are objects, or parts of a record.
	FindingLost FindingKind = "LostRecord"
	// FindingGone is a recorded object that does not exist.
	FindingGone FindingKind = "Missing"
	// FindingStolen is a recorded object that has another owner, or none.
	FindingStolen FindingKind = "NotOwned"
	// FindingUnrecorded is an object that has the mark of a release which has not recorded it.
	FindingUnrecorded FindingKind = "Unrecorded"
	// FindingStuck is an object, or a namespace, whose deletion does not finish.
	FindingStuck FindingKind = "Stuck"
	// FindingLock is the lock of a process that is dead.
	FindingLock FindingKind = "StaleLock"
	// FindingChunks are parts of records that are not needed.
	FindingChunks FindingKind = "UnusedChunks"
	// FindingAncestor is the record of an earlier clm that is left beside the present one.
	FindingAncestor FindingKind = "LegacyRecord"
	// FindingHelm is a record of Helm of a release with the same name and namespace.
	FindingHelm FindingKind = "HelmRecord"
)

// Finding is one problem of a release.
type Finding struct {
	Kind FindingKind
	// Release is namespace and name of the release; empty if the object is not of a release.
	Release string
	// Object is the object in question; nil if the problem is one of the record.
	Object *dependents.Object
	// Message says what is wrong.
	Message string
	// Repair says what the function Repair would do; empty if it would do nothing.
	Repair string
	// Advice says what the user can do; may be empty.
	Advice string

	repair func(ctx context.Context) error
}

// Diagnosis is what an examination has found.
type Diagnosis struct {
	// Releases is the number of releases that were examined.
	Releases int
	// Findings, sorted by release.
	Findings []Finding
	// Notes say what could not be read, or may be outdated.
	Notes []string
}

// Request says what to examine.
type Request struct {
	// Namespace of the releases. Defaults to all namespaces.
	Namespace string
	// Name of the release. Defaults to all.
	Name string
	// Trusted are further namespaces in which the marks of a release count. Defaults to none.
	Trusted []string
}

// Examine compares the records of releases with the cluster. It changes nothing. The error is releases.ErrNotFound if there is no trace of a release with the
// name.
func Examine(ctx context.Context, c *connection.Connection, request Request) (*Diagnosis, error) {
	namespace, name := request.Namespace, request.Name
	e := &examination{
		connection: c, namespace: namespace, name: name, trusted: request.Trusted, diagnosis: &Diagnosis{},
		recorded: map[string][]string{}, unread: map[string]bool{}, lettingGo: map[string]*lettingGo{}, terminating: map[string]bool{},
	}
	for _, step := range []func(context.Context) error{e.readRecords, e.sweepCluster, e.examineLost, e.examineLocks, e.examineHelm, e.examineDefinitions} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	for _, release := range e.intact {
		if err := e.examineIntact(ctx, release); err != nil {
			return nil, err
		}
	}
	if name != "" && len(e.recorded) == 0 && len(e.diagnosis.Findings) == 0 {
		return nil, c.Absent(ctx, namespace, name)
	}
	slices.SortStableFunc(e.diagnosis.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Release, b.Release), cmp.Compare(a.Kind, b.Kind))
	})
	slices.Sort(e.diagnosis.Notes)
	e.diagnosis.Notes = slices.Compact(e.diagnosis.Notes)
	return e.diagnosis, nil
}

// Repair does what Finding.Repair says. It writes only records and locks: it creates, changes or deletes no dependent.
func Repair(ctx context.Context, finding Finding) error {
	if finding.repair == nil {
		return nil
	}
	return finding.repair(ctx)
}

// examination is one call of Examine.
type examination struct {
	connection      *connection.Connection
	namespace, name string
	trusted         []string
	diagnosis       *Diagnosis

	// recorded are the namespaces of all releases with a record, by namespace and name; intact are those whose record
	// can be read completely. Those that were not kept have no state.
	recorded map[string][]string
	intact   []*releases.Release
	// kept is the number of dependents and revisions of the releases that were kept.
	kept int
	// unread are those whose record exists, and cannot be used; by namespace and name.
	unread map[string]bool
	// terminating are the namespaces that are being deleted.
	terminating map[string]bool
	found       []markedObject
	byKey       map[dependents.Key]markedObject
	// lettingGo has the objects that releases have recorded and other releases own, by namespace and name of the release.
	lettingGo map[string]*lettingGo
}

func (e *examination) repairs() *repairs {
	return &repairs{connection: e.connection, trusted: e.trusted}
}

func (e *examination) add(finding Finding) {
	if finding.repair == nil {
		finding.Repair = ""
	}
	e.diagnosis.Findings = append(e.diagnosis.Findings, finding)
}

func (e *examination) note(format string, args ...any) {
	e.diagnosis.Notes = append(e.diagnosis.Notes, fmt.Sprintf(format, args...))
}

// readRecords reads the records of all releases in question.
func (e *examination) readRecords(ctx context.Context) error {
	names := []apitypes.NamespacedName{{Namespace: e.namespace, Name: e.name}}
	if e.name == "" {
		var err error
		if names, err = e.connection.Records().Names(ctx, e.namespace); err != nil {
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
				Repair: "the record will be rebuilt from the dependents that are found by their labels, and from the revisions that are left",
				repair: e.repairs().rebuilding(name),
			})
		case err != nil && e.name != "":
			return err
		case err != nil:
			e.note("%s", err)
			e.unread[name.String()] = true
		default:
			e.keep(release)
		}
	}
	e.diagnosis.Releases = len(e.recorded)
	return nil
}

// maxKept is how many dependents and revisions of all releases are kept. The records of further releases are read
// again, one after the other: they may be too large together.
const maxKept = 100_000

// keep notes a release whose record is intact.
func (e *examination) keep(release *releases.Release) {
	e.recorded[release.String()] = namespacesOf(release)
	count := len(release.Inventory) + len(release.HookInventory) + len(release.TestInventory) + len(release.Revisions)
	if e.kept+count > maxKept {
		release, count = &releases.Release{Namespace: release.Namespace, Name: release.Name}, 0
	}
	e.kept += count
	e.intact = append(e.intact, release)
}

// examineIntact examines a release whose record is intact.
func (e *examination) examineIntact(ctx context.Context, release *releases.Release) error {
	if release.State == "" {
		again, err := e.connection.Records().Get(ctx, release.Namespace, release.Name)
		if err != nil {
			e.note("%s", err)
			return nil
		}
		release = again
	}
	return e.examineRelease(ctx, release)
}

// sweepCluster finds all objects with the mark of a release.
func (e *examination) sweepCluster(ctx context.Context) error {
	selector, err := e.selector()
	if err != nil {
		return err
	}
	s := &sweep{client: e.connection.Client(), selector: selector, namespaces: e.namespacesOf()}
	if err := s.run(ctx); err != nil {
		return err
	}
	e.found, e.byKey = s.found, make(map[dependents.Key]markedObject, len(s.found))
	for _, found := range s.found {
		e.byKey[dependents.KeyOf(found)] = found
	}
	e.diagnosis.Notes = append(e.diagnosis.Notes, s.unlisted...)
	return nil
}

func (e *examination) selector() (labels.Selector, error) {
	operator, values := selection.Exists, []string(nil)
	if e.name != "" {
		operator, values = selection.Equals, []string{digest.OwnerLabel(releases.OwnerID(e.namespace, e.name))}
	}
	requirement, err := labels.NewRequirement(ownership.Label, operator, values)
	if err != nil {
		return nil, fmt.Errorf("selecting dependents: %w", err)
	}
	return labels.NewSelector().Add(*requirement), nil
}

// namespacesOf returns the namespaces in which there may be dependents; sorted.
func (e *examination) namespacesOf() []string {
	var namespaces []string
	if e.namespace != "" {
		namespaces = append(namespaces, e.namespace)
	}
	for _, found := range e.recorded {
		namespaces = append(namespaces, found...)
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// denied notes what the user may not read, and returns other errors.
func (e *examination) denied(err error) error {
	if apierrors.IsForbidden(err) {
		e.note("%s", err)
		return nil
	}
	return err
}
