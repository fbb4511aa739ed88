// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package main

// benchmarks returns all cases in the order in which they are measured.
func benchmarks() []benchmark {
	return []benchmark{
		{"create-component", createComponent},
		{"create-engine", createEngine},
		{"waves", createWaves},
		{"steps", createSteps},
		{"objectset", objectSets},
		{"restart", restart},
		{"change-one", changeOne},
		{"heal", heal},
		{"ready", becomeReady},
		{"unblock", unblock},
		{"rest", atRest},
		{"delete", deleteComponent},
		{"clm", commandLine},
		{"charts", charts},
		{"noop", noop},
		{"resources", typedResources},
		{"render", render},
		{"large", large},
		{"cold-start", coldStart},
		{"memory", memory},
	}
}
