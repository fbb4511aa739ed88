// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/component-operator/runtime/clm/internal/apply"
	"github.com/component-operator/runtime/clm/internal/connection"
	"github.com/component-operator/runtime/clm/internal/dependents"
	"github.com/component-operator/runtime/clm/internal/ownership"
	"github.com/component-operator/runtime/clm/internal/releases"
	"github.com/component-operator/runtime/clm/internal/runner"
)

// LetGo records, in an operation on a release, that the release does not have those of the objects that belong to other owners. It writes only the record: the
// labels of the objects say who owns them already. Above all, it applies no release. The records may have been written by users who have fewer permissions than
// the caller, and what is left to be applied may be deletions.
func LetGo(ctx context.Context, c *connection.Connection, o *runner.Operation, objects []dependents.Object) error {
	plan, err := apply.Current(ctx, c, o.Release().Namespace, o.Release().Name)
	if err != nil {
		return err
	}
	had, err := dependentsOf(c.Client().RESTMapper(), plan)
	if err != nil {
		return err
	}
	var gone []dependent
	receivers := map[string][]dependent{}
	for _, object := range objects {
		at := find(had, object)
		if at < 0 {
			continue
		}
		owner, err := ownership.Read(ctx, c.Client(), object)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return err
		case !owner.IsMissing() && !owner.Is(releases.OwnerID(plan.Release.Namespace, plan.Release.Name)):
			gone, receivers[owner.String()] = append(gone, had[at]), append(receivers[owner.String()], had[at])
		}
	}
	before := plan.Revision.Number
	if err := leaveOut(plan, gone, handedOver(receivers)); err != nil {
		return err
	}
	forget(plan.Release, gone)
	if err := o.CheckLock(ctx); err != nil {
		return fmt.Errorf("recording release %s: %w", plan.Release, err)
	}
	if plan.Revision.Number == before {
		return c.Records().Save(ctx, plan.Release)
	}
	return c.Records().Amend(ctx, plan.Release, plan.Revision, plan.Content)
}

// handedOver names the new owners of objects.
func handedOver(receivers map[string][]dependent) string {
	var texts []string
	for receiver, objects := range receivers {
		slices.SortFunc(objects, func(a, b dependent) int { return strings.Compare(a.String(), b.String()) })
		texts = append(texts, "moved to "+receiver+": "+objectTexts(objects))
	}
	slices.Sort(texts)
	return strings.Join(texts, "; ")
}
