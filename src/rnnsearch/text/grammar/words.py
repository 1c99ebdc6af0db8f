"""The word lists of the grammar, commonest first; `lexicon` reads them and inflects.

Nouns: `english[/plural] french[/plural] gender`. Adjectives: `english french[/feminine[/before a vowel]]`.
Verbs: `english[,past,participle,-ing] [particle] | french | kinds of object | flags`. A plural or form that is not
written is regular. The kinds of noun are the keys of NOUNS; verbs name them by the letters of KINDS.
"""

NOUNS = {
    "person": """man/men homme m; woman/women femme f; child/children enfant m; teacher professeur m; friend ami m;
        girl fille f; boy garçon m; doctor médecin m; queen reine f; king roi m; mother mère f; father père m;
        neighbour voisin m; student étudiant m; sister sœur f; brother frère m; baker boulanger m; farmer fermier m;
        actress actrice f; actor acteur m; nurse infirmière f; singer chanteur m; aunt tante f; uncle oncle m;
        grandmother grand-mère/grands-mères f; grandfather grand-père/grands-pères m; princess princesse f;
        prince prince m; captain capitaine m; writer écrivain m; painter peintre m; gardener jardinier m;
        waitress serveuse f; waiter serveur m; judge juge m; soldier soldat m; sailor marin m; hero/heroes héros m;
        heroine héroïne f; lawyer avocat m; engineer ingénieur m; dancer danseuse f; witch sorcière f;
        magician magicien m; thief/thieves voleur m; guest invité m; mayor maire m; tailor tailleur m;
        shepherd berger m; duchess duchesse f; nephew neveu m; niece nièce f; son fils m; wife/wives épouse f;
        husband mari m; historian historien m; musician musicien m; journalist journaliste m; dentist dentiste m;
        astronaut astronaute m; carpenter menuisier m; fisherman/fishermen pêcheur m; inhabitant habitant m;
        knight chevalier m; shepherdess bergère f; clockmaker horloger m; general général m; nun religieuse f""",
    "animal": """dog chien m; cat chat m; horse cheval m; bird oiseau m; cow vache f; mouse/mice souris f;
        wolf/wolves loup m; fox renard m; bear ours m; rabbit lapin m; lion lion m; elephant éléphant m;
        goat chèvre f; hen poule f; duck canard m; tortoise tortue f; frog grenouille f; bee abeille f;
        butterfly papillon m; spider araignée f; monkey singe m; owl hibou/hiboux m; squirrel écureuil m;
        snake serpent m; hedgehog hérisson m; swallow hirondelle f; goose/geese oie f; ant fourmi f;
        whale baleine f; tiger tigre m; donkey âne m; pigeon pigeon m; crow corbeau m; camel chameau m;
        seagull mouette f; hamster hamster m; lizard lézard m; eagle aigle m; giraffe girafe f;
        ladybird coccinelle f; otter loutre f; jackal chacal/chacals m; ostrich autruche f; dolphin dauphin m""",
    "thing": """table table f; key clé f; chair chaise f; car voiture f; bicycle vélo m; hat chapeau m; coat manteau m;
        box boîte f; painting tableau m; lamp lampe f; clock horloge f; knife/knives couteau m; glass verre m;
        bottle bouteille f; bag sac m; umbrella parapluie m; computer ordinateur m; telephone téléphone m;
        guitar guitare f; piano piano m; axe hache f; harp harpe f; mirror miroir m; boat bateau m; plane avion m;
        train train m; flower fleur f; tree arbre m; stone pierre f; jewel bijou/bijoux m; toy jouet m; doll poupée f;
        candle bougie f; needle aiguille f; tool outil m; ladder échelle f; basket panier m; pen stylo m;
        pencil crayon m; wheel roue f; dress robe f; shirt chemise f; shoe chaussure f; glove gant m; ring bague f;
        violin violon m; drum tambour m; kite cerf-volant/cerfs-volants m; suitcase valise f; anchor ancre f;
        envelope enveloppe f; armchair fauteuil m; pillow oreiller m; hammer marteau m; flag drapeau m;
        statue statue f; telescope télescope m; trumpet trompette f; helmet casque m; hammock hamac m""",
    "writing": """book livre m; letter lettre f; newspaper journal m; story histoire f; poem poème m; report rapport m;
        notebook cahier m; message message m; novel roman m; legend légende f; tale conte m; dictionary dictionnaire m;
        speech discours m""",
    "abstract": """idea idée f; question question f; song chanson f; secret secret m; answer réponse f;
        problem problème m; dream rêve m; lesson leçon f; joke blague f; plan plan m; adventure aventure f;
        language langue f;
        rule règle f; mystery mystère m; method méthode f; hypothesis/hypotheses hypothèse f; habit habitude f;
        error erreur f; custom coutume f; riddle énigme f""",
    "institution": """area zone f; committee comité m; council conseil m; agency agence f; project projet m;
        programme programme m; law loi f; bank banque f; network réseau m; centre centre m; institute institut m;
        association association f; conference conférence f; festival festival/festivals m; commission commission f;
        budget budget m; system système m; union union f; reform réforme f; exhibition exposition f;
        treaty traité m; organisation organisation f; crisis/crises crise f; tribunal tribunal m; archive archive f""",
    "settlement": """village village m; town ville f; district quartier m; valley vallée f; region région f;
        port port m; suburb banlieue f; hamlet hameau m""",
    "building": """school école f; house maison f; castle château m; hotel hôtel m; museum musée m; church église f;
        hospital hôpital m; farm ferme f; station gare f; library bibliothèque f; factory usine f; theatre théâtre m;
        university université f; restaurant restaurant m; palace palais m; prison prison f; mill moulin m;
        bakery boulangerie f; inn auberge f; embassy ambassade f; monastery monastère m""",
    "room": """garden jardin m; kitchen cuisine f; courtyard cour f; cellar cave f; tower tour f; hall hall m;
        attic grenier m; office bureau m; stable écurie f; workshop atelier m; orchard verger m; hangar hangar m""",
    "nature": "forest forêt f; street rue f; field champ m; park parc m; desert désert m; cave grotte f; wood bois m",
    "surface": """bridge pont m; beach plage f; square place f; road route f; hill colline f; island île f;
        terrace terrasse f; balcony balcon m; mountain montagne f; bench banc m""",
    "part": """wall mur m; roof toit m; staircase escalier m; ceiling plafond m; chimney cheminée f; bell cloche f;
        floor plancher m; façade façade f""",
    "opening": """door porte f; window fenêtre f; gate portail/portails m; shutter volet m; curtain rideau m;
        lock serrure f; cupboard placard m""",
    "food": """bread pain m; cheese fromage m; soup soupe f; meat viande f; rice riz m; honey miel m; butter beurre m;
        chocolate chocolat m; jam confiture f; ham jambon m; garlic ail m; salad salade f""",
    "drink": "water eau f; milk lait m; coffee café m; tea thé m; wine vin m; beer bière f; oil huile f; cider cidre m",
    "dish": """apple pomme f; egg œuf m; cake gâteau m; tomato/tomatoes tomate f; pear poire f; onion oignon m;
        orange orange f; bean haricot m; cherry cerise f; lemon citron m; peach pêche f; apricot abricot m;
        mushroom champignon m; pancake crêpe f; strawberry fraise f; lobster homard m; oyster huître f;
        biscuit biscuit m; artichoke artichaut m; turnip navet m""",
}

# Kinds of object by letter, as the verbs name them.
KINDS = {
    "p": ("person",),
    "a": ("animal",),
    "t": ("thing", "thing", "part", "opening"),
    "o": ("opening",),
    "w": ("writing",),
    "s": ("abstract",),
    "i": ("institution",),
    "l": ("building", "room", "settlement", "surface", "nature"),
    "b": ("building", "room"),
    "f": ("food",),
    "d": ("drink",),
    "m": ("dish",),
}

BEFORE = {  # adjectives that French puts before the noun, as English does
    "person": "old vieux/vieille/vieil; young jeune; nice gentil/gentille",
    "animal": "big grand; old vieux/vieille/vieil; little petit; beautiful beau/belle/bel; fat gros/grosse",
    "thing": """big grand; small petit; old vieux/vieille/vieil; new nouveau/nouvelle/nouvel;
        beautiful beau/belle/bel; pretty joli""",
    "writing": """long long/longue; new nouveau/nouvelle/nouvel; old vieux/vieille/vieil; good bon/bonne;
        beautiful beau/belle/bel; short court""",
    "abstract": "good bon/bonne; new nouveau/nouvelle/nouvel; beautiful beau/belle/bel; old vieux/vieille/vieil",
    "institution": "new nouveau/nouvelle/nouvel; big grand; old vieux/vieille/vieil; small petit",
    "place": """big grand; small petit; old vieux/vieille/vieil; new nouveau/nouvelle/nouvel;
        beautiful beau/belle/bel; pretty joli""",
    "food": "good bon/bonne; excellent excellent",
    "dish": "big gros/grosse; small petit; good bon/bonne; beautiful beau/belle/bel",
}

AFTER = {  # adjectives that French puts behind the noun
    "person": """happy heureux/heureuse; tired fatigué; patient patient; famous célèbre; curious curieux/curieuse;
        brave courageux/courageuse; rich riche; intelligent intelligent; generous généreux/généreuse;
        proud fier/fière; honest honnête; shy timide; jealous jaloux/jalouse; serious sérieux/sérieuse;
        polite poli; strong fort; lazy paresseux/paresseuse; discreet discret/discrète; nervous nerveux/nerveuse;
        lonely solitaire; foreign étranger/étrangère; elegant élégant; creative créatif/créative;
        impatient impatient; worried inquiet/inquiète; modest modeste; sincere sincère; sensible raisonnable""",
    "animal": """hungry affamé; wild sauvage; fast rapide; curious curieux/curieuse; tired fatigué;
        calm calme; strange étrange; dangerous dangereux/dangereuse; clever rusé; nervous nerveux/nerveuse;
        timid craintif/craintive; enormous énorme; nocturnal nocturne; faithful fidèle""",
    "thing": """heavy lourd; modern moderne; broken cassé; expensive cher/chère; useful utile; fragile fragile;
        round rond; empty vide; clean propre; dirty sale; magic magique; precious précieux/précieuse;
        dry sec/sèche; rare rare; solid solide; wet mouillé; rusty rouillé; golden doré; comfortable confortable""",
    "writing": """interesting intéressant; sad triste; difficult difficile; funny drôle; secret secret/secrète;
        mysterious mystérieux/mystérieuse; anonymous anonyme; useful utile; popular populaire;
        official officiel/officielle""",
    "abstract": """strange étrange; simple simple; complicated compliqué; funny drôle; incredible incroyable;
        important important; dangerous dangereux/dangereuse; original original; useful utile; absurd absurde;
        naive naïf/naïve; ancestral ancestral""",
    "institution": """important important; ambitious ambitieux/ambitieuse; permanent permanent; modern moderne;
        independent indépendant; useful utile; secret secret/secrète; efficient efficace""",
    "place": """quiet tranquille; dark sombre; modern moderne; cold froid; empty vide; immense immense;
        abandoned abandonné; magnificent magnifique; haunted hanté; famous célèbre; public public/publique;
        mysterious mystérieux/mystérieuse; charming charmant; luxurious luxueux/luxueuse; peaceful paisible""",
    "food": "fresh frais/fraîche; hot chaud; cold froid; delicious délicieux/délicieuse; salty salé; sweet sucré",
    "dish": "fresh frais/fraîche; delicious délicieux/délicieuse; ripe mûr; hot chaud; raw cru; enormous énorme",
    "colour": """red rouge; white blanc/blanche; black noir; green vert; blue bleu; yellow jaune; grey gris;
        pink rose; purple violet/violette""",
    "scope": """European européen/européenne; national national; French français; international international;
        regional régional; English anglais; German allemand; Italian italien/italienne; African africain;
        local local; Spanish espagnol; American américain; Canadian canadien/canadienne; municipal municipal;
        Japanese japonais; Irish irlandais; Hungarian hongrois; Indian indien/indienne""",
    "field": """economic économique; political politique; social social; scientific scientifique;
        cultural culturel/culturelle; medical médical; industrial industriel/industrielle; agricultural agricole;
        historical historique; commercial commercial; military militaire; financial financier/financière;
        musical musical; religious religieux/religieuse; artistic artistique; technical technique;
        nuclear nucléaire; maritime maritime; legal juridique; administrative administratif/administrative""",
}

# Flags: e = conjugated with être; s = a state (the simple past is the imparfait; no -ing form);
# m = momentary (no -ing form).
VERBS = {
    "intransitive": """sleep,slept | dormir; work | travailler; dance | danser; sing,sang,sung | chanter;
        laugh | rire; run,ran,run,running | courir; smile | sourire; arrive | arriver | | e; walk | marcher;
        come,came,come | venir | | e; play | jouer; dream | rêver; fall,fell,fallen | tomber | | e;
        swim,swam,swum,swimming | nager; travel,travelled,travelled,travelling | voyager; cry | pleurer;
        stay | rester | | e; jump | sauter; hesitate | hésiter; shout | crier; die,,,dying | mourir | | e;
        disappear | disparaître; tremble | trembler; sneeze | éternuer; snore | ronfler; breathe | respirer;
        cough | tousser; whistle | siffler; skate | patiner""",
    "lifeless": """disappear | disparaître | twsilfdm; fall,fell,fallen | tomber | twm | e; shine,shone | briller | tb;
        burn | brûler | twb; change | changer | twsilfdm; move | bouger | twsilfdm; age | vieillir | twsibfd;
        grow,grew,grown | grandir | il""",
    "transitive": """see,saw,seen | voir | patlmi | m; love | aimer | patlfmsi | s; look for | chercher | patlms;
        find,found | trouver | patlms | m; follow | suivre | pa; buy,bought | acheter | atmfdw;
        eat,ate,eaten | manger | fm; help | aider | pa; read,read,read | lire | w; watch | regarder | patl;
        hear,heard | entendre | pas | m; wait for | attendre | pa; know,knew,known | connaître | pls | s;
        admire | admirer | patli; drink,drank,drunk | boire | d; open | ouvrir | o; close | fermer | o;
        meet,met | rencontrer | pa; forget,forgot,forgotten,forgetting | oublier | ptsl | m; carry | porter | patm;
        draw,drew,drawn | dessiner | patlm; sell,sold | vendre | atmfdw; visit | visiter | l;
        hide,hid,hidden | cacher | atms; lose,lost | perdre | atw | m; write,wrote,written | écrire | w;
        build,built | construire | b; prepare | préparer | fmd; protect | protéger | patli;
        clean | nettoyer | tl; repair | réparer | t; choose,chose,chosen | choisir | atmws; paint | peindre | patlm;
        break,broke,broken | casser | t; understand,understood | comprendre | psw | m; invite | inviter | p;
        steal,stole,stolen | voler | atmw; study | étudier | siwa; cross | traverser | l; thank | remercier | p;
        explain | expliquer | si; wash | laver | at; taste | goûter | fdm; bring,brought | apporter | tmfdw;
        greet | saluer | p; support | soutenir | ip; criticise | critiquer | ipsw; finance | financer | i;
        photograph | photographier | patl; listen to | écouter | pa; learn | apprendre | s; defend | défendre | ips;
        imitate | imiter | pa; invent | inventer | swm; touch | toucher | at; reform | réformer | i;
        translate | traduire | w; leave,left | quitter | l; pursue | poursuivre | pa; describe | décrire | patlsi;
        hate | haïr | patlms | s; respect | respecter | pi""",
    "indirect": """speak,spoke,spoken to | parler | pa; answer | répondre | p; call | téléphoner | p;
        obey | obéir | p; resemble | ressembler | pa | s; lie,,,lying to | mentir | p; smile at | sourire | pa""",
    "giving": """give,gave,given | donner | tmwa; show,showed,shown | montrer | tmwa; send,sent | envoyer | tmw;
        lend,lent | prêter | tw; offer | offrir | tmw""",
    "saying": """think,thought | penser; say,said | dire; know,knew,known | savoir; believe | croire; hope | espérer;
        announce | annoncer""",
    "linking": "seem | sembler | | s; become,became,become | devenir | | em",
    "wanting": "can | pouvoir; must | devoir; want | vouloir",
}

# je, il, nous, vous, ils; then participle; then the stem of the future where it is not the infinitive (less -e).
IRREGULAR = """
dormir: dors dort dormons dormez dorment dormi
mentir: mens ment mentons mentez mentent menti
courir: cours court courons courez courent couru courr
rire: ris rit rions riez rient ri
sourire: souris sourit sourions souriez sourient souri
venir: viens vient venons venez viennent venu viendr
devenir: deviens devient devenons devenez deviennent devenu deviendr
soutenir: soutiens soutient soutenons soutenez soutiennent soutenu soutiendr
mourir: meurs meurt mourons mourez meurent mort mourr
disparaître: disparais disparaît disparaissons disparaissez disparaissent disparu
connaître: connais connaît connaissons connaissez connaissent connu
voir: vois voit voyons voyez voient vu verr
croire: crois croit croyons croyez croient cru
suivre: suis suit suivons suivez suivent suivi
poursuivre: poursuis poursuit poursuivons poursuivez poursuivent poursuivi
peindre: peins peint peignons peignez peignent peint
ouvrir: ouvre ouvre ouvrons ouvrez ouvrent ouvert
offrir: offre offre offrons offrez offrent offert
construire: construis construit construisons construisez construisent construit
traduire: traduis traduit traduisons traduisez traduisent traduit
lire: lis lit lisons lisez lisent lu
écrire: écris écrit écrivons écrivez écrivent écrit
décrire: décris décrit décrivons décrivez décrivent décrit
dire: dis dit disons dites disent dit
boire: bois boit buvons buvez boivent bu
comprendre: comprends comprend comprenons comprenez comprennent compris
apprendre: apprends apprend apprenons apprenez apprennent appris
haïr: hais hait haïssons haïssez haïssent haï
savoir: sais sait savons savez savent su saur
pouvoir: peux peut pouvons pouvez peuvent pu pourr
devoir: dois doit devons devez doivent dû devr
vouloir: veux veut voulons voulez veulent voulu voudr
être: suis est sommes êtes sont été ser
avoir: ai a avons avez ont eu aur
acheter: achète achète achetons achetez achètent acheté achèter
nettoyer: nettoie nettoie nettoyons nettoyez nettoient nettoyé nettoier
envoyer: envoie envoie envoyons envoyez envoient envoyé enverr
espérer: espère espère espérons espérez espèrent espéré
protéger: protège protège protégeons protégez protègent protégé
"""

# Beginnings of the words before which nothing is elided although they begin with h or a vowel.
ASPIRATED = """hach hai haï hall hamac hameau hamster hangar hant haricot harp héris héros hibou homard hongr huit
    onze"""

# Words in u-, h- and eu- that take the other article than their letter suggests.
ARTICLE_A = "useful university union European"
ARTICLE_AN = "honest"

ADVERBS = "often souvent; always toujours; really vraiment; sometimes parfois; rarely rarement; finally enfin"
ADVERBS_WITH_NOT = "often souvent; always toujours; really vraiment"
MANNER_OF_THINGS = "slowly lentement; quickly rapidement; quietly doucement; silently silencieusement"
MANNER = """slowly lentement; quickly rapidement; quietly doucement; calmly calmement; noisily bruyamment;
    patiently patiemment; discreetly discrètement; happily joyeusement; silently silencieusement; elegantly élégamment;
    clumsily maladroitement; bravely courageusement; stubbornly obstinément"""
TIMES = {
    "present": """now maintenant; every_day chaque_jour; every_morning chaque_matin;
        in_winter en_hiver; in_summer en_été""",
    "past": "yesterday hier; last_night hier_soir; last_year l'_année_dernière; last_week la_semaine_dernière",
    "future": "tomorrow demain; next_year l'_année_prochaine; next_week la_semaine_prochaine; soon bientôt",
}
NUMBERS = """two deux; three trois; four quatre; five cinq; six six; seven sept; eight huit; nine neuf; ten dix;
    eleven onze; twelve douze; fifteen quinze; twenty vingt; thirty trente; fifty cinquante; sixty soixante"""

WOMEN = """Anna Marie Julie Claire Alice Emma Louise Sophie Jeanne Camille Élise Hélène Nadia Inès Fatima Charlotte
    Margot Odile Agathe Irène Ursule Sylvie Léa Chloé Manon Zoé Lucie Eva Rose Nora Simone Thérèse Colette
    Brigitte Aurore Océane Adèle Clémence Apolline Garance Honorine Philomène Sidonie Eulalie Théodora Victoire
    Mathilde Solange Berthe"""
MEN = """Paul Pierre Jean Thomas Louis Hugo Antoine Nicolas Omar Henri Olivier Marc Lucas Émile Arthur Karim Denis
    Georges Victor Alain Éric Ibrahim Samuel Daniel Félix Martin Robert Simon Xavier Bruno Didier Edgar Fabrice
    Gaspard Hippolyte Isidore Jules Léon Maurice Norbert Oscar Prosper Quentin René Sylvain Théodore Urbain Valentin
    Anatole"""
TOWNS = "Paris Lyon Lille Bordeaux Nantes Strasbourg Toulouse Rennes Amiens Dijon Orléans Avignon Grenoble Tours Metz"
# A long tail of invented towns: each beginning with each ending.
TOWN_BEGINNINGS = "Beau Mont Clair Bel Val Franc Roche Noir Sain Cham Bran Ver Gram Pont Mar Tour Fon Cour"
TOWN_ENDINGS = "ville fort lieu court bourg champ pré mont bois rive sac gny brac lac val ières"
COUNTRIES = """France en France; Italy en Italie; Spain en Espagne; Canada au Canada; Germany en Allemagne;
    Japan au Japon; Brazil au Brésil; Portugal au Portugal; Greece en Grèce; Ireland en Irlande; Morocco au Maroc;
    Norway en Norvège;
    Mexico au Mexique; Poland en Pologne; Peru au Pérou; Turkey en Turquie; Iceland en Islande; Chile au Chili"""
