//! Reading and writing fabrics and tables; what is wrong is said with its line and its word.

use hpvm_routing::fabric::Node;
use hpvm_routing::format::{Form, WRITTEN, detect, read, write};
use hpvm_routing::{Fabric, Network, generate, lft, linux, order};

/// What matters: names, and which ports are joined.
fn joined(fabric: &Fabric) -> Vec<(String, u64)> {
    let mut links: Vec<_> = fabric
        .live_links()
        .map(|at| {
            let [a, b] = fabric.links[at as usize].ends;
            let mut ends = [a, b].map(|end| format!("{}:{}", fabric.name(end.node), end.port));
            ends.sort();
            (ends.join(" "), fabric.links[at as usize].bandwidth.to_bits())
        })
        .collect();
    links.sort();
    links
}

#[test]
fn every_form_keeps_the_fabric() {
    for shape in ["fattree:hpvm3-doubled", "torus:4x4x2", "irregular:switches=9:ports=6:hosts=2"] {
        let fabric = generate::generate(shape).unwrap();
        for (name, form) in WRITTEN {
            let text = write(&fabric, form).expect(name);
            assert_eq!(detect(&text), form, "{name}");
            let again = read(&text, form).unwrap_or_else(|e| panic!("{shape} as {name}: {e}"));
            let bandwidth = |(ends, bits): (String, u64)| match form {
                // There are words for some speeds only.
                Form::Ibnetdiscover => (ends, 0),
                _ => (ends, bits),
            };
            let pair =
                [&fabric, &again].map(|f| joined(f).into_iter().map(bandwidth).collect::<Vec<_>>());
            assert_eq!(pair[0], pair[1], "{shape} as {name}");
            let text_again = write(&again, form).expect(name);
            assert_eq!(Some(&text_again), write(&read(&text_again, form).unwrap(), form).as_ref());
        }
    }
}

fn refused(text: &str, form: Form, line: Option<usize>, words: &[&str]) {
    let error = read(text, form).expect_err(text);
    assert_eq!(error.line, line, "{text}: {error}");
    for word in words {
        assert!(error.to_string().contains(word), "{text}: {error}: {word}");
    }
}

#[test]
fn faults_of_our_form() {
    let base = "switch s1 ports=3\nhost h1\nhost h2\nlink h1 s1:1\nlink h2 s1:2\n";
    assert!(read(base, Form::Text).is_ok());
    for (more, words) in [
        ("cable h1 s1", &["'cable'", "'link"] as &[&str]),
        ("switch s1", &["'s1' is there already in line 1"]),
        ("host s1", &["'s1' is there already in line 1"]),
        ("switch", &["'switch' without a name"]),
        ("switch a:b", &["'a:b'", "no ':'"]),
        ("switch x ports=0", &["'0'", "1 to 4096"]),
        ("switch x ports=99999999999999999999", &["'99999999999999999999'", "1 to 4096"]),
        ("switch x ports", &["'ports'", "ports="]),
        ("switch x ports=3 ports=4", &["'ports' is there twice"]),
        ("switch x guid=xyz", &["'xyz'", "GUID"]),
        ("switch x pos=1", &["'1'", "X,Y"]),
        ("switch x lid=70000", &["'70000'", "49151"]),
        ("host x address=10.0.0", &["'10.0.0'", "address"]),
        ("host x slots=-1", &["'-1'", "'slots'"]),
        ("link h1", &["needs two ends"]),
        ("link h1 s9", &["'s9'", "'switch s9'"]),
        ("link h1 s1:4", &["'4' is no port of 's1'", "1 to 3"]),
        ("link h1:2 s1:1", &["port '1' of 's1' has a link already"]),
        ("link s1 s1", &["'s1' is linked with itself"]),
        ("link h1 h2", &["both hosts"]),
        ("link h1 s1:x", &["'x'", "a port"]),
        ("link h1 s1 bw=0", &["'0'", "Gbit/s"]),
        ("link h1 s1 bw=nan", &["'nan'", "Gbit/s"]),
        ("link h1 s1 bw=1e99", &["'1e99'", "Gbit/s"]),
        ("link h1 s1 count=1000000000", &["'1000000000'", "4096"]),
        ("link h1 s1 count=3", &["'s1' has no free port left of its 3"]),
        ("link h1 s1:3 count=2", &["'count' and ports"]),
        ("host h3", &["host 'h3' has no link"]),
    ] {
        refused(&format!("{base}{more}\n"), Form::Text, Some(6), words);
    }
    refused("", Form::Text, None, &["no hosts"]);
    refused("host h1\n", Form::Text, None, &["no switches"]);
    refused(
        &format!("switch {}\n", "x".repeat(300)),
        Form::Text,
        Some(1),
        &["1 to 256 bytes", "..."],
    );
    let lids = "switch s lid=3\nhost h lid=3\nlink h s\n";
    refused(lids, Form::Text, None, &["LID '3'", "'h'", "'s'"]);
}

#[test]
fn faults_of_ibnetdiscovers_form() {
    let fabric = generate::generate("mesh:2").unwrap();
    let good = write(&fabric, Form::Ibnetdiscover).unwrap();
    for (from, to, line, words) in [
        ("Switch 2", "Swatch 2", 1, &["'Swatch'"] as &[&str]),
        ("Switch 2", "Switch many", 1, &["'many'", "ports"]),
        ("Switch 2", "Rt 2", 1, &["'Rt'"]),
        ("Switch 2 \"", "Switch 2 ", 1, &["double quotes"]),
        ("[1] \"H", "1] \"H", 2, &["'1]'"]),
        ("[1] \"H", "[9999999] \"H", 2, &["'9999999'"]),
        ("[1] \"H", "[2] \"H", 3, &["[2]", "twice"]),
        ("\"[1] # lid 1 lmc 0", "\"[1 # lid 1 lmc 0", 10, &["[PORT]"]),
        ("# lid 1 lmc", "# lid 1x lmc", 10, &["'1x'", "LID"]),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        refused(&text, Form::Ibnetdiscover, Some(line), words);
    }
    // Cut off anywhere between lines it is refused, for a link or a node is missing.
    let lines: Vec<&str> = good.trim_end().lines().collect();
    for count in 0..lines.len() {
        let text = lines[..count].join("\n");
        let error = read(&text, Form::Ibnetdiscover).expect_err(&text).to_string();
        let why = ["cut off", "no hosts", "no switches", "has no link"];
        assert!(why.iter().any(|why| error.contains(why)), "{error}");
    }
    refused("[1] \"S-1\"[1]\n", Form::Ibnetdiscover, Some(1), &["before the first"]);
}

#[test]
fn a_real_ibnetdiscover() {
    let text = include_str!("ibnetdiscover.txt");
    assert_eq!(detect(text), Form::Ibnetdiscover);
    let fabric = read(text, Form::Ibnetdiscover).unwrap();
    assert_eq!((fabric.hosts.len(), fabric.switches.len(), fabric.links.len()), (4, 4, 8));
    let h3 = fabric.hosts.iter().find(|host| host.name == "h3").unwrap();
    assert_eq!(
        (h3.guid, h3.ports[0].guid, h3.ports[0].lid),
        (Some(0x100004), Some(0x100005), Some(7))
    );
    // 4x SDR: 8 Gbit/s of data.
    assert!(fabric.links.iter().all(|link| link.bandwidth == 8.0));
    let tables = lft::read(&fabric, include_str!("opensm-lfts.dump")).unwrap();
    let network = Network::new(&fabric);
    let found = hpvm_routing::check::check(&network, &tables);
    assert!(found.sound(), "{found:?}");
    assert_eq!(found.routed, 12);
}

#[test]
fn graphviz() {
    let text = "/* a */ strict graph G {\n  node [kind=switch];\n  s1 -- s2 [bw=10];\n s1 -- s2;\n \
                { node [kind=\"host\"] a; \"b c\" [slots=4] }\n  a -- s1:p3; s2 -- \"b c\" # end\n}\n";
    let fabric = read(text, Form::Dot).unwrap();
    assert_eq!((fabric.hosts.len(), fabric.switches.len(), fabric.links.len()), (2, 2, 3));
    assert_eq!(fabric.hosts[1].slots, Some(4));
    assert!(fabric.failed("s1:3").is_ok());
    // Without kinds; both directions are one link, two edges of one direction are two.
    let text = "digraph { a -> s; s -> a; b -> s; s -> t; s -> t; t -> c }";
    let fabric = read(text, Form::Dot).unwrap();
    assert_eq!((fabric.hosts.len(), fabric.switches.len(), fabric.links.len()), (3, 2, 5));
    let chain = read("graph { {a b c} -- s -- t -- {d e} }", Form::Dot).unwrap();
    assert_eq!((chain.hosts.len(), chain.links.len()), (5, 6));
    for (text, line, words) in [
        ("graph {\n a -- s\n", 3, &["'}'", "the end of the file"] as &[&str]),
        ("graf { }", 1, &["'graf'"]),
        ("graph {\n a -- \n}", 3, &["a node", "'}'"]),
        ("graph {\n a -- \"s\n}", 2, &["double quote"]),
        ("graph {\n /* }", 2, &["'/*'"]),
        ("graph {\n a [kind=router] }", 2, &["'router'"]),
        ("graph {\n a -- s:x }", 2, &["'x'", "a number"]),
        ("graph {\n a -- s [bw=fast] }", 2, &["'fast'"]),
        ("graph {\n a -- a }", 2, &["'a' is linked with itself"]),
        ("graph { a -- s ; b -- s } }", 1, &["after the graph"]),
        ("graph {\n ! }", 2, &["'!'"]),
    ] {
        refused(text, Form::Dot, Some(line), words);
    }
    refused(&format!("graph {}", "{".repeat(100_000)), Form::Dot, Some(1), &["64 blocks"]);
}

#[test]
fn faults_of_tables() {
    let fabric = generate::generate("mesh:2").unwrap();
    let network = Network::new(&fabric);
    let tables = hpvm_routing::updown::route(&network, &hpvm_routing::updown::Roots::Auto, false);
    let good = lft::write(&fabric, &tables.unwrap().tables).unwrap();
    for (from, to, line, words) in [
        (
            "guid 0x0200000000200000 ('s0')",
            "guid 0x1 ('s9')",
            3,
            &["no switch of this GUID"] as &[&str],
        ),
        ("0x0001 001", "0x0000 001", 4, &["'0x0000'"]),
        ("0x0001 001", "0x0001 999", 4, &["'999'"]),
        ("0x0001 001", "0x0001", 4, &["'#'"]),
        ("0x0001 001", "hello", 4, &["'hello"]),
        ("4 lids dumped\n", "", 8, &["'s1'", "no 'N lids dumped'", "cut off"]),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let Err(error) = lft::read(&fabric, &text) else {
            // A missing end shows at the next switch only if the file ends there.
            assert!(from.starts_with("4 lids"), "{text}");
            continue;
        };
        assert_eq!(error.line, Some(line), "{error}");
        assert!(words.iter().any(|word| error.to_string().contains(word)), "{error}");
    }
    let twice = format!("{good}{good}");
    assert!(lft::read(&fabric, &twice).unwrap_err().to_string().contains("'s0' is there twice"));
    let cut = &good[..good.len() - 20];
    assert!(lft::read(&fabric, cut).unwrap_err().to_string().contains("cut off"));
    assert!(lft::read(&fabric, "").unwrap_err().to_string().contains("no tables"));
}

#[test]
fn shapes_that_cannot_be() {
    for (shape, words) in [
        ("cube:3", &["'cube'", "torus:8x8x2"] as &[&str]),
        ("torus", &["size is missing"]),
        ("torus:8x0", &["'8x0'"]),
        ("torus:4096x4096", &["limits"]),
        ("mesh:2x2:hosts=x", &["'hosts=x'", "1 to 1024"]),
        ("fattree:k=5", &["even"]),
        ("fattree:k=1000", &["2 to 72"]),
        ("fattree:m=2,2:w=1", &["2 levels, w 1"]),
        ("fattree:m=2,2:w=2,2", &["a host has one switch"]),
        ("fattree:m=4000,4000,4000", &["limits"]),
        ("fattree:m=4096,4096,4096,4096,4096,4096", &["more nodes"]),
        ("ntree:k=4", &["'n=' is missing"]),
        ("ntree:k=64:n=16", &["more nodes"]),
        ("irregular:switches=4:ports=3:hosts=2", &["2 for other switches"]),
    ] {
        let error = generate::generate(shape).unwrap_err().to_string();
        assert!(error.contains(shape), "{error}");
        words.iter().for_each(|word| assert!(error.contains(word), "{shape}: {error}"));
    }
}

#[test]
fn sizes_that_do_not_fit() {
    let mut text = "switch s\nhost h\nlink h s\n".to_owned();
    for at in 0..600 {
        text.push_str(&format!("switch x{at}\nlink s x{at}:4096\n"));
    }
    refused(&text, Form::Text, Some(1027), &["'x511'", "more than 2097152 ports"]);
    let fabric = generate::generate("irregular:switches=50000:ports=4:hosts=2").unwrap();
    let network = Network::new(&fabric);
    let error = hpvm_routing::Tables::empty(network.fabric).unwrap_err().to_string();
    assert!(error.contains("7500000000 entries"), "{error}");
}

#[test]
fn hosts_that_nothing_joins() {
    let text = "switch a\nswitch b\nhost h1\nhost h2\nlink h1 a\nlink h2 b\n";
    let fabric = read(text, Form::Text).unwrap();
    let network = Network::new(&fabric);
    let error = hpvm_routing::updown::route(&network, &hpvm_routing::updown::Roots::Auto, false);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("1 of the fabric's 2 host ports") && error.contains("'h2'"), "{error}");
}

#[test]
fn neighbours_are_near_in_the_host_order() {
    let fabric = generate::generate("mesh:3x3").unwrap();
    let network = Network::new(&fabric);
    let hosts = order::hosts(&network);
    assert_eq!(hosts.len(), 9);
    for pair in hosts.windows(2) {
        let [a, b] = [pair[0], pair[1]].map(|host| network.attached[host as usize].unwrap().0);
        assert_eq!(network.distances(&[a])[b as usize], 1, "{hosts:?}");
    }
    // A tree that names its leaves in turns: one subtree after the other.
    let text = "switch top\nswitch m1\nswitch m2\nlink m1 top\nlink m2 top\n".to_owned()
        + "switch a\nswitch b\nswitch c\nswitch d\nlink a m1\nlink b m2\nlink c m1\nlink d m2\n"
        + "host ha\nhost hb slots=4\nhost hc\nhost hd\nlink ha a\nlink hb b\nlink hc c\nlink hd d\n";
    let fabric = read(&text, Form::Text).unwrap();
    assert_eq!(order::hostfile(&Network::new(&fabric)), "ha\nhc\nhb slots=4\nhd\n");
}

#[test]
fn routes_for_linux_need_addresses() {
    let error = |text: &str| {
        let fabric = read(text, Form::Text).unwrap();
        let network = Network::new(&fabric);
        let tables = hpvm_routing::Tables::empty(&fabric).unwrap();
        linux::scripts(&network, &tables, None).unwrap_err().to_string()
    };
    let text = "switch s\nhost a address=10.0.0.1\nhost b\nlink a s\nlink b s\n";
    assert!(error(text).contains("switch 's' has no address"));
    let text = text.replace("switch s\n", "switch s address=10.1.0.1\n");
    assert!(error(&text).contains("host 'b' has no address"));
    let text = text.replace("host b\n", "host b address=10.0.0.1\n");
    assert!(error(&text).contains("'a' and 'b' have the address 10.0.0.1"));
}

#[test]
fn the_other_end_of_a_link() {
    let fabric = generate::generate("mesh:2").unwrap();
    assert_eq!(fabric.name(Node::Switch(1)), "s1");
    assert_eq!(fabric.link_name(2), "s0:2-s1:2");
}
