// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/component-operator/runtime/pkg/types"
)

// file is a file with manifests.
type file struct {
	name    string
	content []byte
}

// manifestGenerator returns objects that were read at the beginning.
type manifestGenerator struct {
	objects     []*unstructured.Unstructured
	fingerprint string
}

// newManifestGenerator reads YAML documents and JSON values as kubectl does. It replaces lists by their items.
func newManifestGenerator(files []file) (*manifestGenerator, error) {
	g := &manifestGenerator{}
	hash := sha256.New()
	for _, file := range files {
		objects, err := parseManifests(file.content)
		if err != nil {
			return nil, fmt.Errorf("parsing %s: %w", file.name, err)
		}
		g.objects = append(g.objects, objects...)
		fmt.Fprintf(hash, "%d\n", len(file.content))
		hash.Write(file.content)
	}
	g.fingerprint = hex.EncodeToString(hash.Sum(nil))
	return g, nil
}

// Generate returns copies of the objects.
func (g *manifestGenerator) Generate(ctx context.Context, _ string, _ string, _ types.Unstructurable) ([]client.Object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	objects := make([]client.Object, len(g.objects))
	for i, object := range g.objects {
		objects[i] = object.DeepCopy()
	}
	return objects, nil
}

// Fingerprint identifies the content of the files, and their order.
func (g *manifestGenerator) Fingerprint() string {
	return "manifests/1 " + g.fingerprint
}
