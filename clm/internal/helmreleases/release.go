// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package helmreleases

import (
	"time"

	apitypes "k8s.io/apimachinery/pkg/types"

	"github.com/component-operator/runtime/internal/helm"
)

// Release is what Helm has recorded of a release.
type Release struct {
	// Namespace and Name of the release.
	Namespace, Name string
	// Revisions whose records can be read, oldest first. There is at least one.
	Revisions []Revision
	// Unreadable are the others, oldest first. All of them are older than the revision that is installed.
	Unreadable []Unreadable
}

// Revision is one revision of a release.
type Revision struct {
	// Number of the revision, which begins at 1. Helm forgets old revisions, so the first one may have any number.
	Number int64
	// Status of the revision.
	Status Status
	// Created is when Helm began to install the revision, without fractions of seconds.
	Created time.Time
	// Description is what Helm tells people about the revision.
	Description string
	// Chart from which the revision was rendered.
	Chart Chart

	object
	// data is the record, compressed.
	data []byte
}

// Content is what a revision consists of.
type Content struct {
	// Values that the user has given; never nil.
	Values map[string]any
	// Notes of the chart; empty if it has none.
	Notes string
	// Objects are those of the manifest and the hooks, sorted by the files of the chart.
	Objects []helm.Object
}

// Unreadable is a revision whose record is damaged.
type Unreadable struct {
	// Number and Status of the revision, as the labels of the record say.
	Number int64
	Status Status
	// Reason names the object that has the record, and says what is wrong with it.
	Reason error

	object
}

// object has the record of a revision.
type object struct {
	kind, namespace, name string
	uid                   apitypes.UID
	version               string
}

// Chart names a chart.
type Chart struct {
	Name, Version, AppVersion string
}

// Record names the object, for example "Secret sh.helm.release.v1.web.v1".
func (o object) Record() string { return o.kind + " " + o.name }

// Last returns the newest revision.
func (r *Release) Last() Revision { return r.Revisions[len(r.Revisions)-1] }

// FirstRecord names the object that has the record of the oldest revision, whether that can be read or not.
func (r *Release) FirstRecord() string { return r.records()[0].Record() }

// records are the objects that have the records of all revisions, oldest first.
func (r *Release) records() []object {
	var list []object
	unreadable := r.Unreadable
	for _, revision := range r.Revisions {
		for len(unreadable) > 0 && unreadable[0].Number < revision.Number {
			list, unreadable = append(list, unreadable[0].object), unreadable[1:]
		}
		list = append(list, revision.object)
	}
	for _, revision := range unreadable {
		list = append(list, revision.object)
	}
	return list
}

// String returns namespace and name.
func (r *Release) String() string { return r.Namespace + "/" + r.Name }

// Status is where a revision stands, in Helm's words.
type Status string

const (
	// StatusDeployed means that the revision is the one that is installed.
	StatusDeployed Status = "deployed"
	// StatusSuperseded means that the revision was installed, and another one was afterwards.
	StatusSuperseded Status = "superseded"
	// StatusFailed means that Helm could not install the revision completely.
	StatusFailed Status = "failed"
	// StatusUninstalled means that the release was uninstalled, and that its history was kept.
	StatusUninstalled Status = "uninstalled"
	// StatusUninstalling means that Helm is uninstalling the release, or has died while it was.
	StatusUninstalling Status = "uninstalling"
	// StatusPendingInstall means that Helm is installing the release, or has died while it was.
	StatusPendingInstall Status = "pending-install"
	// StatusPendingUpgrade means that Helm is upgrading the release, or has died while it was.
	StatusPendingUpgrade Status = "pending-upgrade"
	// StatusPendingRollback means that Helm is rolling back the release, or has died while it was.
	StatusPendingRollback Status = "pending-rollback"
	// StatusUnknown is a status that Helm itself does not know.
	StatusUnknown Status = "unknown"
)

// Installed reports whether the revision is or was installed completely.
func (s Status) Installed() bool { return s == StatusDeployed || s == StatusSuperseded }

// Pending reports whether an operation of Helm has begun and not ended.
func (s Status) Pending() bool {
	switch s {
	case StatusUninstalling, StatusPendingInstall, StatusPendingUpgrade, StatusPendingRollback:
		return true
	case StatusDeployed, StatusSuperseded, StatusFailed, StatusUninstalled, StatusUnknown:
		return false
	default:
		return false
	}
}
