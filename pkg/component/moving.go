// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/component-operator/runtime/internal/clients"
	"github.com/component-operator/runtime/pkg/component/internal/texts"
	"github.com/component-operator/runtime/pkg/reconciler"
)

// The status says which cluster has the dependents, so that a kubeconfig that leads to another cluster is noticed: the inventory
// tells nothing about that one. The cluster follows the mark of the inventory; see Status.mark.

// clusterIdentity identifies a cluster; the zero value is an unknown one.
type clusterIdentity struct {
	// uid is that of the namespace kube-system, or localCluster.
	uid string
	// host is the address of the API server, for people; empty for the cluster of the component.
	host string
}

// localCluster stands for the cluster of the component.
const localCluster = "local"

// parseCluster is the inverse of clusterIdentity.String.
func parseCluster(text string) clusterIdentity {
	uid, host, _ := strings.Cut(text, "@")
	return clusterIdentity{uid: uid, host: host}
}

// String returns the form in which the status has it.
func (c clusterIdentity) String() string {
	if c.host == "" {
		return c.uid
	}
	return c.uid + "@" + c.host
}

// describe names the cluster in messages.
func (c clusterIdentity) describe() string {
	switch {
	case c.uid == localCluster:
		return "the cluster of the component"
	case c.host == "":
		return "the cluster whose namespace kube-system has the UID " + c.uid
	default:
		return fmt.Sprintf("the cluster at %s, whose namespace kube-system has the UID %s", c.host, c.uid)
	}
}

// isOther reports whether two clusters are known to be different ones. A kubeconfig may lead to the cluster of the component,
// whose UID is own.
func (c clusterIdentity) isOther(other clusterIdentity, own string) bool {
	uid := func(c clusterIdentity) string {
		if c.uid == localCluster {
			return own
		}
		return c.uid
	}
	return c.uid != "" && other.uid != "" && uid(c) != uid(other)
}

// notConnectedError is about an identity by which no connection can be made.
type notConnectedError struct{ error }

// identify finds out to which cluster an identity leads. It makes at most one request per connection. The result is unknown if
// the identity must not read the namespace kube-system.
func (w *worker) identify(ctx context.Context, id identity) (clusterIdentity, error) {
	if len(id.kubeConfig) == 0 {
		return clusterIdentity{uid: localCluster}, nil
	}
	return w.targets.identify(ctx, id)
}

// isOccupied reports whether something is, or may be, in the cluster of the dependents.
func (w *worker) isOccupied(s *scope) bool {
	return len(s.leftBehind()) > 0 || s.record.gap != "" || s.deleting && w.awaitsHooks(s)
}

// connectFormer connects to the cluster that has the dependents, if it is another one than the one that is to have them. It
// reports whether that is so. A cluster to which no connection is held any more is lost.
func (w *worker) connectFormer(ctx context.Context, s *scope, id identity) (moved bool, o outcome) {
	occupied := w.isOccupied(s)
	if s.deleting && (!occupied || s.cluster.uid == "") {
		return false, proceed
	}
	present, err := w.identify(ctx, id)
	var notConnected notConnectedError
	var noAnswer *clients.NoAnswerError
	switch {
	case errors.As(err, &noAnswer) && !s.deleting:
		// Whoever goes on would wait for as long again.
		return true, outcomeOf(fmt.Errorf("identifying the cluster of the dependents: %w", err))
	case errors.As(err, &notConnected), err != nil && (!occupied || s.cluster.uid == ""):
		// Whoever goes on finds out what is wrong.
		return false, proceed
	case err != nil && s.deleting:
		return true, w.unreachable(ctx, s, fmt.Errorf("identifying the cluster of the dependents: %w", err))
	case err != nil:
		return true, outcomeOf(fmt.Errorf("identifying the cluster of the dependents: %w", err))
	case !occupied || !s.cluster.isOther(present, w.clusterID):
		s.cluster = present
		return false, proceed
	}
	s.next = &present
	return true, w.reachFormer(s, id)
}

// reachFormer connects to the cluster that has the dependents, and is not the one that is to have them.
func (w *worker) reachFormer(s *scope, id identity) outcome {
	if s.cluster.uid == localCluster {
		var err error
		s.target, err = w.targets.connect(s.key, s.ownerID, localIdentityOf(s.component, ptr.Deref(w.options.DefaultServiceAccount, "")))
		return outcomeOf(err)
	}
	if held, cluster := w.targets.held(s.key); held != nil && cluster.uid == s.cluster.uid {
		s.target = held
		return proceed
	}
	reason := fmt.Errorf("the dependents are in %s, and the kubeconfig now leads to %s", s.cluster.describe(), s.next.describe())
	if s.deleting || !w.isAbandoned(s) {
		return w.loseTarget(s, reason)
	}
	w.abandon(s, reason)
	return w.arrive(s, id)
}

// leaveFormer deletes the dependents in the cluster that has them, and connects to the one that is to have them. Deletion hooks
// are not run: the component stays.
func (w *worker) leaveFormer(ctx context.Context, s *scope) outcome {
	if s.next == nil {
		return proceed
	}
	prefix := fmt.Sprintf("moving from %s to %s: ", s.cluster.describe(), s.next.describe())
	o := w.clearFormer(ctx, s)
	if o.kind != outcomeContinue {
		o.message = prefix + o.message
		return o
	}
	return w.arrive(s, identityOf(s.component, ptr.Deref(w.options.DefaultServiceAccount, "")))
}

// clearFormer deletes the dependents in the former cluster.
func (w *worker) clearFormer(ctx context.Context, s *scope) outcome {
	if o := w.unreachable(ctx, s, w.rebuild(ctx, s, nil)); o.kind != outcomeContinue || s.abandoned {
		return o
	}
	blockers, err := s.target.engine.CheckDeletion(ctx, reconciler.DeleteRequest{Owner: w.owner(s)})
	if err != nil {
		return w.unreachable(ctx, s, err)
	}
	if len(blockers) > 0 {
		return outcome{kind: outcomeProgressing, message: blockerMessage(blockers)}
	}
	result, err := s.target.engine.Delete(ctx, reconciler.DeleteRequest{Owner: w.owner(s)})
	w.took(s, &result)
	switch {
	case err != nil:
		return w.unreachable(ctx, s, err)
	case !result.Done:
		return outcome{kind: outcomeProgressing, message: texts.Waits(result, "deleted"), wake: result.RequeueAfter}
	}
	return proceed
}

// arrive begins anew in the cluster that is to have the dependents. That nothing is there yet is recorded with the first write.
func (w *worker) arrive(s *scope, id identity) outcome {
	w.events.Event(w.metadataOnly(s), corev1.EventTypeNormal, "Moved",
		texts.Bound(fmt.Sprintf("the dependents go to %s; before, they were in %s", s.next.describe(), s.cluster.describe())))
	s.cluster, s.next = *s.next, nil
	s.abandoned, s.result = false, nil
	s.status.Inventory, s.record.gap = nil, ""
	s.record.known, s.record.outdated = true, true
	s.status.setUnlisted(nil)
	found, err := w.targets.connect(s.key, s.ownerID, id)
	if err != nil {
		return outcome{kind: outcomeRefused, message: "connecting to the cluster of the dependents: " + err.Error()}
	}
	s.target = found
	return proceed
}
