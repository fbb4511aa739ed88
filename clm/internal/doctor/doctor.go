// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/clm/internal/display"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
	"github.com/component-operator/runtime/internal/manifest"
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
	// FindingStuck is a namespace that waits for a record.
	FindingStuck FindingKind = "Stuck"
)

// Finding is one problem of a release.
type Finding struct {
	Kind FindingKind
	// Release is namespace and name of the release.
	Release string
	// Object is the object in question; nil if the problem is one of the record.
	Object *display.Object
	// Message says what is wrong.
	Message string
	// Remedy says what the function Repair would do; empty if it would do nothing.
	Remedy string
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
	// Notes say what could not be read.
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
	return e.diagnosis, nil
}

// Repair does what Finding.Repair says, which must not be empty. It writes only records: it creates, changes or deletes
// no dependent.
func (f Finding) Repair(ctx context.Context) error { return f.repair(ctx) }

// examination is one call of Examine.
type examination struct {
	Request

	connection *runner.Connection
	diagnosis  *Diagnosis

	// recorded are the namespaces of all releases with a record, by namespace and name; intact are those whose record
	// can be read completely.
	recorded map[string][]string
	intact   []apitypes.NamespacedName
	// unread are those whose record exists, and cannot be used; by namespace and name.
	unread map[string]bool
	found  []markedObject
	byKey  map[display.Key]markedObject
}

// add adds a finding. If it has a remedy, that is to rebuild the record.
func (e *examination) add(finding Finding) {
	if finding.Remedy != "" {
		namespace, name, _ := strings.Cut(finding.Release, "/")
		r := &rebuilding{connection: e.connection, trusted: e.Trusted, name: apitypes.NamespacedName{Namespace: namespace, Name: name}}
		finding.repair = r.run
	}
	e.diagnosis.Findings = append(e.diagnosis.Findings, finding)
}

func (e *examination) note(format string, args ...any) {
	e.diagnosis.Notes = append(e.diagnosis.Notes, fmt.Sprintf(format, args...))
}

// readRecords reads the records of all releases in question, and keeps only where they have objects: the records may be
// too large together.
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
	s := &sweep{client: e.connection.Client(), selector: labels.NewSelector().Add(*requirement)}
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
	e.found, e.byKey = s.found, make(map[display.Key]markedObject, len(s.found))
	for _, found := range s.found {
		e.byKey[display.KeyOf(found)] = found
	}
	e.diagnosis.Notes = append(e.diagnosis.Notes, s.unlisted...)
	return nil
}

// denied notes what the user may not read, and returns other errors.
func (e *examination) denied(err error) error {
	if apierrors.IsForbidden(err) {
		e.note("%s", err)
		return nil
	}
	return err
}
