// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/pkg/component/internal/queue"
)

// NewQueue returns a priority queue that raises the priority of waiting components, so that none starves. SetupWithManager uses it; callers of
// SetupWithManagerAndBuilder can set it as the option NewQueue of the controller.
func NewQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return queue.New(name, limiter)
}
