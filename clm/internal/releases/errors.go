// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound says that there is no release of that name. The error that wraps it names the release.
var ErrNotFound = errors.New("not found")

// ErrOutdated says that the record is not any more the one that was read, because another process has written it.
var ErrOutdated = errors.New("another process has changed its record in the meantime")

// ErrFull says that the index of a release would be larger than a Secret may be. Nothing was written then. It is
// smaller with fewer revisions.
var ErrFull = errors.New("it is full")

// DamagedError says that a record cannot be read completely, because others have changed or removed a part of it.
type DamagedError struct {
	// Release is namespace and name of the release.
	Release string
	// Part is what cannot be read.
	Part string
	// Damage says what is wrong with which object.
	Damage string
	// Revision is the number of the revision whose content is damaged; 0 if it is something else.
	Revision int64
}

// Error names the release, what is wrong, and what helps.
func (e *DamagedError) Error() string {
	namespace, name, _ := strings.Cut(e.Release, "/")
	help := fmt.Sprintf("to examine it: clm doctor %s -n %s", name, namespace)
	if e.Revision != 0 {
		help = "it can be neither shown nor applied again; the rest of the release is not affected"
	}
	return fmt.Sprintf("%s of release %s is damaged: %s; %s", e.Part, e.Release, e.Damage, help)
}

// LostLockError says that a lock is no longer held, because another process has taken or removed its lease.
type LostLockError struct {
	// Release is namespace and name of the release.
	Release string
	// Reason says how the lock was lost.
	Reason error
}

// Error names the release and the lease.
func (e *LostLockError) Error() string {
	return fmt.Sprintf("the lock of release %s is lost: %s", e.Release, e.Reason)
}

// Unwrap returns the reason.
func (e *LostLockError) Unwrap() error { return e.Reason }
