// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"strings"

	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
)

// next says what to do after an operation that has ended with an error, including how to return to the last revision
// that was ready; may be empty.
func (p *Plan) next(limits runner.Limits, err error) string {
	advice := limits.Next(err, p.Release)
	if p.Operation != Apply && p.Operation != Rollback || limits.Instead != "" && advice == limits.Instead {
		return advice
	}
	texts := []string{releases.Next(err, p.Release)}
	switch ready := p.Release.LastReady(); {
	case !releases.IsFailure(err):
	case limits.Instead != "":
		texts = append(texts, limits.Instead)
	case ready != nil && p.NeverReady() && p.Revision.Target != ready.Number:
		texts = append(texts, fmt.Sprintf("To return to revision %d: clm rollback %s %d -n %s", ready.Number, p.Release.Name, ready.Number, p.Release.Namespace))
	}
	return strings.TrimPrefix(strings.Join(texts, "\n"), "\n")
}
