// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"

	"github.com/component-operator/runtime/clm/internal/releases"
)

// prune forgets the revisions that are not to be kept.
func (o Options) prune(release *releases.Release) {
	if o.HistoryMax > 0 {
		release.Prune(o.HistoryMax)
	}
	if o.HistoryMaxBytes > 0 {
		release.PruneBytes(o.HistoryMaxBytes)
	}
}

// makeRoom calls add, which records a further revision. Usually revisions are forgotten when the operation ends, so
// that its failure to begin loses none. If the index has no room for a further one, they are forgotten in the same
// write. Then a rollback can be continued only without the number of a revision that was forgotten.
func (o Options) makeRoom(release *releases.Release, add func(release *releases.Release) error) error {
	err := add(release)
	if !errors.Is(err, releases.ErrFull) {
		return err
	}
	fewer := release.Clone()
	if o.HistoryMax > 0 {
		o.HistoryMax = max(o.HistoryMax-1, 1)
	}
	o.prune(fewer)
	if len(fewer.Revisions) == len(release.Revisions) {
		return err
	}
	if err := add(fewer); err != nil {
		return err
	}
	*release = *fewer
	return nil
}
