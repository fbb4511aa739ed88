// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// Annotations of pods, Jobs and pod templates that change how a pod behaves; see the package documentation.
// Only the value "true" has an effect.
const (
	AnnotationFail       = "sandbox.component-operator.io/fail"
	AnnotationNeverReady = "sandbox.component-operator.io/never-ready"
)

// Version is the version of Kubernetes that the sandbox runs.
const Version = "v1.36.3"

// maxNodes keeps node names, leases and start time within reason.
const maxNodes = 1000

// Options configure [Start].
type Options struct {
	// DataDir keeps the data of etcd, the certificate authority, and the programs' logs. A later sandbox in the same
	// folder continues where the earlier one ended; two at the same time are refused. Defaults to a new temporary
	// folder that is deleted when the sandbox ends, however it ends.
	DataDir string

	// KubeconfigPath is the path of the cluster administrator's kubeconfig, which has mode 0600. Start replaces a file
	// that an earlier sandbox wrote, and fails if the path has any other file. The file is removed when the sandbox
	// stops. Defaults to "kubeconfig" in the data folder.
	KubeconfigPath string

	// Nodes is the number of simulated nodes. Defaults to 1. Negative for none.
	Nodes int

	// APIServerOnly leaves out the controllers, the scheduler and the nodes: objects stay as they are written.
	// Defaults to false.
	APIServerOnly bool

	// AuditLog is a file to which the API server appends one JSON event (audit.k8s.io/v1, level Metadata) per completed
	// request. Defaults to none.
	AuditLog string

	// Log receives the progress of building and starting, as text for people. Defaults to nothing.
	Log io.Writer
}

// withDefaults returns the options with absolute paths and defaults, except that of DataDir.
func (o Options) withDefaults() (Options, error) {
	var errs []error
	for _, path := range []*string{&o.DataDir, &o.KubeconfigPath, &o.AuditLog} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		errs = append(errs, err)
		*path = absolute
	}
	switch {
	case o.Nodes > maxNodes:
		errs = append(errs, fmt.Errorf("%d nodes are too many; must be at most %d", o.Nodes, maxNodes))
	case o.Nodes < 0 || o.APIServerOnly:
		o.Nodes = 0
	case o.Nodes == 0:
		o.Nodes = 1
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o, errors.Join(errs...)
}
