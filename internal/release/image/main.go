// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Image writes an OCI image layout with an image for each platform: one binary, the root certificates of Mozilla, and a
// user without rights. The same arguments give the same files.
//
//	image FOLDER NAME VERSION TIME PLATFORM=BINARY...
//
// NAME is that of the binary in the image, VERSION the tag of the image in the layout, TIME the time of its files in seconds since 1970, and PLATFORM such as linux/amd64.
package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user and group that distroless images call nonroot.
const nobody = 65532

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 5 {
		return errors.New("arguments: FOLDER NAME VERSION TIME PLATFORM=BINARY...")
	}
	seconds, err := strconv.ParseInt(args[3], 10, 64)
	if err != nil {
		return fmt.Errorf("the time %q is no number of seconds", args[3])
	}
	when := time.Unix(seconds, 0).UTC()
	var index v1.ImageIndex = empty.Index
	for _, arg := range args[4:] {
		platform, binary, _ := strings.Cut(arg, "=")
		system, err := v1.ParsePlatform(platform)
		if err != nil {
			return fmt.Errorf("platform %q: %w", platform, err)
		}
		image, err := imageOf(args[1], binary, system, when)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: system}})
	}
	path, err := layout.Write(args[0], empty.Index)
	if err != nil {
		return err
	}
	// Tools find an image in a layout by this annotation.
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": args[2]}))
}

func imageOf(name, binary string, platform *v1.Platform, when time.Time) (v1.Image, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	base := archive(when, file{"etc/passwd", 0o644, []byte("nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n")},
		file{"etc/group", 0o644, []byte("nonroot:x:65532:\n")}, file{"etc/ssl/certs/ca-certificates.crt", 0o644, roots()},
		file{"home/nonroot/", 0o700, nil}, file{"tmp/", 0o1777, nil})
	image := v1.Image(empty.Image)
	for _, content := range [][]byte{base, archive(when, file{"usr/local/bin/" + name, 0o755, program})} {
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
		if err != nil {
			return nil, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: when}}}); err != nil {
			return nil, err
		}
	}
	return mutate.ConfigFile(image, withConfig(image, name, platform, when))
}

func withConfig(image v1.Image, name string, platform *v1.Platform, when time.Time) *v1.ConfigFile {
	config, err := image.ConfigFile()
	if err != nil {
		panic(err) // it was made in memory
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant, config.Created = platform.OS, platform.Architecture, platform.Variant, v1.Time{Time: when}
	config.Config = v1.Config{
		Entrypoint: []string{"/usr/local/bin/" + name}, User: strconv.Itoa(nobody), WorkingDir: "/home/nonroot",
		Env: []string{"PATH=/usr/local/bin", "HOME=/home/nonroot", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
	}
	return config
}

// A file of an image. The name of a folder ends with a slash.
type file struct {
	name    string
	mode    int64
	content []byte
}

func archive(when time.Time, files ...file) []byte {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: when, Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if strings.HasPrefix(f.name, "home/") {
			header.Uid, header.Gid = nobody, nobody
		}
		if err := errors.Join(w.WriteHeader(header), func() error { _, err := w.Write(f.content); return err }()); err != nil {
			panic(err) // it is written to memory
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// roots returns the root certificates as PEM.
func roots() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			panic(err)
		}
	}
	return out.Bytes()
}
