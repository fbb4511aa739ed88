// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package reconciler

import "time"

// SetBarrierPause changes how long barriers must have been in force.
func SetBarrierPause(r *Reconciler, pause time.Duration) { r.barrierPause = pause }
