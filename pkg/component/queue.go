// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/component-operator/runtime/pkg/component/internal/queue"
)

// NewQueue returns a priority queue that raises the priority of components that wait: none starves while others come in
// without end. SetupWithManager uses it; who calls SetupWithManagerAndBuilder can set the option NewQueue of the controller to it.
func NewQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return queue.New(name, limiter)
}
