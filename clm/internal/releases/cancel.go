// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/component-operator/runtime/internal/apiserver"
	"github.com/component-operator/runtime/internal/texts"
)

const (
	// operationAnnotation says what the holder of a lock does, in one word.
	operationAnnotation = ReconcilerName + "/operation"
	// cancelableAnnotation says whether the holder ends its operation when another process asks for that: "true" or
	// "false".
	cancelableAnnotation = ReconcilerName + "/cancelable"
	// startedAnnotation is when the process of the holder was started, by its own clock.
	startedAnnotation = ReconcilerName + "/started"
	// cancelAnnotation has the operation and the holder of the process that has asked the holder of the lock to end its
	// operation.
	cancelAnnotation = ReconcilerName + "/cancel-requested-by"
	// maxRequester is how much of that annotation is told, in bytes.
	maxRequester = 300
)

// Waiting says what a process waits for that needs a lock.
type Waiting struct {
	// Holder of the lock.
	Holder string
	// Since is when the holder has acquired the lock, by its own clock.
	Since time.Time
	// Asked is the operation of the holder, such as "apply", that it is asked to end; empty if it is not asked.
	Asked string
	// Obstacle says why the holder is not asked although LockOptions.CancelOlder is set; empty if there is no reason.
	Obstacle string
}

// waiting describes the wait for a lease that another process has.
func (l *Lock) waiting(lease *coordinationv1.Lease) Waiting {
	w := Waiting{Holder: holderOf(lease), Since: acquiredAt(lease)}
	if !l.options.CancelOlder {
		return w
	}
	if w.Obstacle = l.obstacle(lease); w.Obstacle == "" {
		w.Asked = lease.Annotations[operationAnnotation]
	}
	return w
}

// obstacle says why the holder of a lease is not asked to end its operation; empty if it is to be asked.
func (l *Lock) obstacle(lease *coordinationv1.Lease) string {
	operation := lease.Annotations[operationAnnotation]
	if lease.Annotations[cancelableAnnotation] != "true" {
		return fmt.Sprintf("its operation (%s) is not canceled", operation)
	}
	started, err := time.Parse(time.RFC3339Nano, lease.Annotations[startedAnnotation])
	if err != nil || !started.Before(l.options.Started) {
		return fmt.Sprintf("its operation (%s) is not canceled, because it was started later than this one", operation)
	}
	return ""
}

// ask asks the holder of the lease to end its operation, unless it has been asked already, there is an obstacle, or the
// lease has changed in the meantime. The request does not count as a renewal: the lease expires when it would have
// without it.
func (l *Lock) ask(ctx context.Context, lease *coordinationv1.Lease) error {
	if !l.options.CancelOlder || lease.Annotations[cancelAnnotation] != "" || l.obstacle(lease) != "" {
		return nil
	}
	next := lease.DeepCopy()
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, cancelAnnotation, l.options.Operation+" of "+l.options.Holder)
	_, err := l.leases.Update(ctx, next, metav1.UpdateOptions{FieldManager: l.manager})
	if err != nil && !apiserver.IsOutdated(err) && !apierrors.IsNotFound(err) {
		return fmt.Errorf("asking %s to end its operation: %w", holderOf(lease), err)
	}
	return nil
}

// Requested returns a channel that is closed when a newer process asks this one to end its operation. The lock is still
// held then. It is never closed unless LockOptions.Cancelable is set.
func (l *Lock) Requested() <-chan struct{} { return l.requested }

// RequestedBy returns the operation and the holder of the newer process, such as "apply of jane@laptop/4711"; empty as
// long as none has asked. It may also be called after Release.
func (l *Lock) RequestedBy() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.requestedBy
}

// hear records the request to end if there is one in our lease. The caller holds the mutex.
func (l *Lock) hear(lease *coordinationv1.Lease) {
	by := lease.Annotations[cancelAnnotation]
	if by == "" || !l.options.Cancelable || l.requestedBy != "" {
		return
	}
	l.requestedBy = texts.Truncate(by, maxRequester)
	close(l.requested)
}
