// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package component

// holdTarget has the deletion go on with the connection that this process has, although what leads to the target is lost. It reports
// whether there is one, and whether it leads to the cluster that has the dependents.
func (w *worker) holdTarget(s *scope) bool {
	held, cluster := w.targets.held(s.key)
	if held == nil || w.isAbandoned(s) || s.cluster.uid != "" && cluster.uid != s.cluster.uid {
		return false
	}
	s.target, s.held = held, true
	return true
}
