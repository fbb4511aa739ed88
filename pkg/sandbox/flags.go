// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// serviceRange is the address range of Services. The certificate of the API server contains its first address.
const serviceRange = "10.96.0.0/16"

// Limits for the clients of controllers and scheduler. The defaults (20 requests per second) are meant for shared
// clusters, and would slow down tests.
const (
	clientQPS   = 500
	clientBurst = 1000
)

// layout contains the paths of the files of one sandbox.
type layout struct {
	data string // kept if the user gave it
	run  string // deleted at the end in any case
	pki  *pki
}

func (l layout) socket() string { return filepath.Join(l.run, "etcd.sock") }

func (l layout) log(program string) string { return filepath.Join(l.data, "logs", program+".log") }

func (l layout) file(name string) string { return filepath.Join(l.data, name) }

// kubeconfig returns the path of the kubeconfig of a program. The administrator has another one.
func (l layout) kubeconfig(program string) string { return l.file(program + ".kubeconfig") }

// etcdArgs make etcd serve on a Unix socket: no other user can reach it there, and no port can collide. It has no
// peers, but requires a port for them.
func etcdArgs(l layout) []string {
	return []string{
		"--data-dir=" + l.file("etcd"),
		"--listen-client-urls=unix://" + l.socket(),
		"--listen-peer-urls=http://127.0.0.1:0",
		// Required, but never used with a single member.
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--unsafe-no-fsync",
		"--quota-backend-bytes=" + strconv.Itoa(8<<30),
		"--auto-compaction-retention=1h",
		"--logger=zap",
		"--log-level=warn",
	}
}

func apiServerArgs(l layout, port, auditLog string) ([]string, error) {
	p := l.pki
	args := []string{
		"--etcd-servers=unix://" + l.socket(),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + port,
		"--tls-cert-file=" + p.cert(programAPIServer),
		"--tls-private-key-file=" + p.key(programAPIServer),
		"--client-ca-file=" + p.cert("ca"),
		"--anonymous-auth=false",
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + p.key("sa"),
		"--service-account-signing-key-file=" + p.key("sa"),
		"--service-cluster-ip-range=" + serviceRange,
		"--requestheader-client-ca-file=" + p.cert("front-proxy-ca"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + p.cert("front-proxy-client"),
		"--proxy-client-key-file=" + p.key("front-proxy-client"),
		// Without a Service network, webhooks and aggregated APIs are reachable only at the addresses of their
		// endpoints.
		"--enable-aggregator-routing=true",
		// A loopback address is not allowed as an endpoint of the Service "kubernetes".
		"--endpoint-reconciler-type=none",
		"--allow-privileged=true",
	}
	if auditLog == "" {
		return args, nil
	}
	const policy = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[{"level":"Metadata"}]}`
	if err := os.WriteFile(l.file("audit-policy.json"), []byte(policy), 0o600); err != nil {
		return nil, err
	}
	return append(args,
		"--audit-policy-file="+l.file("audit-policy.json"),
		"--audit-log-path="+auditLog,
		"--audit-log-maxsize=10240",
	), nil
}

func controllerManagerArgs(l layout) ([]string, error) {
	p := l.pki
	args := []string{
		"--kubeconfig=" + l.kubeconfig(programControllerManager),
		"--secure-port=0",
		"--leader-elect=false",
		"--service-account-private-key-file=" + p.key("sa"),
		"--root-ca-file=" + p.cert("ca"),
		"--cluster-signing-cert-file=" + p.cert("ca"),
		"--cluster-signing-key-file=" + p.key("ca"),
		"--kube-api-qps=" + strconv.Itoa(clientQPS),
		"--kube-api-burst=" + strconv.Itoa(clientBurst),
		"--profiling=false",
	}
	for _, controller := range []string{"deployment", "replicaset", "statefulset", "job", "namespace", "endpoint", "service-endpoint"} {
		args = append(args, fmt.Sprintf("--concurrent-%s-syncs=20", controller))
	}
	return args, nil
}

func schedulerArgs(l layout) ([]string, error) {
	config := fmt.Sprintf(`apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %q, qps: %d, burst: %d}
leaderElection: {leaderElect: false}
enableProfiling: false
`, l.kubeconfig(programScheduler), clientQPS, clientBurst)
	if err := os.WriteFile(l.file("scheduler.yaml"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	return []string{"--config=" + l.file("scheduler.yaml"), "--secure-port=0"}, nil
}

func kwokArgs(l layout) ([]string, error) {
	if err := os.WriteFile(l.file("kwok.yaml"), kwokConfig, 0o600); err != nil {
		return nil, err
	}
	return []string{"--kubeconfig=" + l.kubeconfig(programKwok), "--config=" + l.file("kwok.yaml")}, nil
}

// validity is the lifetime of all certificates, long enough for data folders that are kept.
const validity = 10 * 365 * 24 * time.Hour

// pki is a folder with the certificates and keys of one sandbox. They are created once, so tokens and kubeconfigs stay
// valid as long as the folder is kept.
type pki struct {
	dir string
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

func newPKI(dir string) (*pki, error) {
	if _, err := os.Stat(dir); err == nil {
		return &pki{dir: dir}, nil
	}
	p := &pki{dir: dir + ".new"}
	if err := os.RemoveAll(p.dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, err
	}
	if err := p.fill(); err != nil {
		return nil, err
	}
	return &pki{dir: dir}, os.Rename(p.dir, dir)
}

func (p *pki) fill() error {
	if _, err := p.createKey("sa"); err != nil {
		return err
	}
	const masters = "system:masters"
	for _, signed := range []struct {
		authority string
		clients   map[string]pkix.Name
	}{
		{"ca", map[string]pkix.Name{
			"admin":                  {CommonName: "sandbox-admin", Organization: []string{masters}},
			programControllerManager: {CommonName: "system:kube-controller-manager", Organization: []string{masters}},
			programScheduler:         {CommonName: "system:kube-scheduler", Organization: []string{masters}},
			programKwok:              {CommonName: "sandbox-kwok", Organization: []string{masters}},
			programAPIServer:         {CommonName: programAPIServer},
		}},
		{"front-proxy-ca", map[string]pkix.Name{"front-proxy-client": {CommonName: "front-proxy-client"}}},
	} {
		issuer, err := p.issue(nil, signed.authority, pkix.Name{CommonName: "sandbox-" + signed.authority})
		if err != nil {
			return err
		}
		for name, subject := range signed.clients {
			if _, err := p.issue(issuer, name, subject); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pki) cert(name string) string { return filepath.Join(p.dir, name+".crt") }

func (p *pki) key(name string) string { return filepath.Join(p.dir, name+".key") }

// issue creates a key and a certificate: without an issuer, for an authority; otherwise for a client or for the API
// server, with its names and addresses.
func (p *pki) issue(issuer *authority, name string, subject pkix.Name) (*authority, error) {
	key, err := p.createKey(name)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	made := &authority{key: key, certificate: &x509.Certificate{
		Subject: subject, SerialNumber: serial, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity), KeyUsage: x509.KeyUsageDigitalSignature,
	}}
	switch template := made.certificate; {
	case issuer == nil:
		issuer = made
		template.KeyUsage |= x509.KeyUsageCertSign
		template.BasicConstraintsValid, template.IsCA = true, true
	case name == programAPIServer:
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 96, 0, 1)}
	default:
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	der, err := x509.CreateCertificate(rand.Reader, made.certificate, issuer.certificate, key.Public(), issuer.key)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %s: %w", name, err)
	}
	return made, os.WriteFile(p.cert(name), pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der}), 0o600)
}

func (p *pki) createKey(name string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	content, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	return key, os.WriteFile(p.key(name), content, 0o600)
}

// contextName is the name of cluster, user and context in the sandbox's kubeconfigs. It distinguishes them from other
// kubeconfigs.
const contextName = "component-operator-sandbox"

// writeKubeconfig writes a self-contained kubeconfig for the user with the certificate of that name.
func (p *pki) writeKubeconfig(path, server, user string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[contextName] = &clientcmdapi.Cluster{Server: server, CertificateAuthority: p.cert("ca")}
	config.AuthInfos[contextName] = &clientcmdapi.AuthInfo{ClientCertificate: p.cert(user), ClientKey: p.key(user)}
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: contextName}
	config.CurrentContext = contextName
	if err := clientcmdapi.FlattenConfig(config); err != nil {
		return err
	}
	content, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	// Write another file and rename it, so that readers never see a partial file.
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(content)
	if err := errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}

// checkKubeconfig returns an error if a file was not written by a sandbox, because it may be the user's only access to
// a cluster.
func checkKubeconfig(path string) error {
	config, err := clientcmd.LoadFromFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the kubeconfig to replace: %w", err)
	}
	_, ours := config.Contexts[contextName]
	if ours && len(config.Contexts) == 1 && len(config.Clusters) == 1 {
		return nil
	}
	return fmt.Errorf("%s exists and was not written by a sandbox: choose another path for the kubeconfig", path)
}
